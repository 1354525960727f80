// The notes of verdicts that pass: what a reader should know of a test that is green.
#pragma once

#include <string>
#include <vector>

namespace assay::inline v0_2 {

// Gives the notes of a verdict that passed to GoogleTest. Each note becomes a property of the
// running test, assay_note_1, assay_note_2 and so on, which --gtest_output=xml writes. A text that
// the test has already is not added again, and after 100 notes assay_notes_left_out counts the
// others. If the environment variable ASSAY_NOTES is 1, the notes are also printed on standard
// output, with the name of the test. Outside a running test there are no properties, and the notes
// are printed only if ASSAY_NOTES is 1. Safe on several threads. Throws Refusal if ASSAY_NOTES is
// neither 0 nor 1.
void tell_notes(const std::vector<std::string>& notes);

}  // namespace assay
