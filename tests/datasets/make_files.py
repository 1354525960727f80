#!/usr/bin/env python3
"""Writes the files for the tests of the dataset reader: valid files, and files that it must refuse.

    make_files.py OUTDIR

writes OUTDIR/good/*.h5, OUTDIR/bad/*.h5, OUTDIR/bits/* and OUTDIR/manifest.json, a list of
    {"file", "accept", "reason", "object", "inferred"} and for accepted files "expect", "attrs"
- reason    why the file must be refused, one of a few phrases. The file's name gives the details
- object    the HDF5 path that the error has to contain (cut before a character that a message may
            escape), or "" for the file itself
- inferred  true if the page that describes dataset files does not say it word for word and this
            script infers it
- expect    [{"case", "tensor", "dtype", "shape", "bits"}], bits = sha256 of the bytes as assay
            stores them: little-endian, float16, bfloat16 and float_e5m6 as uint16, tfloat32 and
            hfloat32 as float32, 8 bits and less and bool as uint8. They are in OUTDIR/bits/<sha256>
- attrs     [{"object", "name", "kind", "value"}], kind = string, int, float or bool, value as text

This script is the oracle of the C++ reader and shares nothing with it. It was written only from the
page, with h5py. A bad file must have the defect that it claims and no other, and a good file must
have no defect. To check this, the small reader in reference_reader.py reads each file back. It must
find the same reason at the same object, or the same bits. The output is the same on every run, byte
for byte.
"""
import json
import os
import sys

import numpy as np

from bad_files import BAD
from good_files import GOOD
from hdf5_files import attr, contents, create, expected, expected_attrs, full_case
from reference_reader import Refused, read_file

def main(out):
    manifest, problems = [], []
    for folder in ("good", "bad", "bits"):
        os.makedirs(os.path.join(out, folder), exist_ok=True)
    with open(os.path.join(out, "bad", "raw.bin"), "wb") as raw:
        raw.write(np.arange(4, dtype="<f4").tobytes())

    def write(name, accept, inferred, reason, obj, fill, patch=None, **kw):
        expected.clear(), expected_attrs.clear()
        file = f"{'good' if accept else 'bad'}/{name}.h5"
        path = os.path.join(out, file)
        with create(path, **kw) as f:
            attr(f, "assay_schema", 1)
            fill(f)
        if patch:
            with open(path, "rb") as h5:
                data = h5.read()
            with open(path, "wb") as h5:
                h5.write(patch(data))
        entry = {"file": file, "accept": accept, "reason": reason, "object": obj,
                 "inferred": inferred}
        by_name = lambda tensor: (tensor["case"], tensor["tensor"])
        if accept:
            entry["expect"] = sorted(expected.values(), key=by_name)
            entry["attrs"] = list(expected_attrs)
        manifest.append(entry)
        try:
            found = sorted(read_file(path), key=by_name)
            if not accept or found != entry["expect"]:
                problems.append(f"{file}: {'other bits' if accept else 'nothing to refuse'}")
        except Refused as refused:
            why, where = refused.args
            cut = name.startswith(("name_", "deep", "maze"))      # the manifest has only the beginning of the object
            as_told = not where or not obj or where == obj or cut and where.startswith(obj)
            if accept or why != reason or not as_told:
                problems.append(f"{file}: refused for {refused.args}, not {reason!r} at {obj!r}")

    for name, fill, inferred, kw in GOOD:
        write(name, True, inferred, "", "", fill, **kw)
    for name, reason, obj, change, kw in BAD:
        bare, inferred = kw.pop("bare", False), kw.pop("inferred", False)
        write(name, False, inferred, reason, obj,
              lambda f: (bare or (full_case(f, "ok"), full_case(f, "c")), change(f)), **kw)
    assert len({entry["file"] for entry in manifest}) == len(manifest), "two files of one name"
    for digest, data in contents.items():
        with open(os.path.join(out, "bits", digest), "wb") as raw:
            raw.write(data)
    with open(os.path.join(out, "manifest.json"), "w") as text:
        json.dump(manifest, text, indent=1, ensure_ascii=True)
        text.write("\n")
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0

if __name__ == "__main__":
    sys.exit(main(sys.argv[1]) if len(sys.argv) == 2 else __doc__)
