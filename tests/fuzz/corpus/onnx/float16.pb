
Bname*d