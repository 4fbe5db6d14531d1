"""The parts of a study, one file each: fields, jobs, what a job runs, its rows, and its sections of a report."""
