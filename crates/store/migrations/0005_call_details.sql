-- What the client called itself, and where a call's time went, as JSON of times and numbers.
ALTER TABLE calls ADD COLUMN client TEXT;
ALTER TABLE calls ADD COLUMN timeline TEXT;
