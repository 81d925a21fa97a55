/** Thrown when the command line or the configuration is wrong: exit code 2. */
export class UsageError extends Error {}
