"""`/v1/diagnosis/learners`: which disease shows which finding, learnt from labelled cases."""
