/** Error of a wrong command line or configuration: exit code 2. */
export class UsageError extends Error {}
