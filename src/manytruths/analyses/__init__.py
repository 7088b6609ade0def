"""One module a verb: a study in, a result out, tables written."""
