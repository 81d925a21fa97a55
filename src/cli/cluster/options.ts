import { type OptionSpec, withNeed } from '../command/command.ts'
import { restAddress } from '../flag-kinds/places.ts'
import { clientTlsOptions } from '../flags/client-tls.ts'
import { TOKEN_OPTIONS } from '../flags/token.ts'

/** What the flags of TLS to a JobManager begin with. */
export const JOB_MANAGER_TLS = 'jobmanager-tls'

/** Flags of the TLS of a JobManager that asks for it. */
export const JOB_MANAGER_TLS_OPTIONS: Readonly<Record<string, OptionSpec>> = clientTlsOptions(
  JOB_MANAGER_TLS,
  'the JobManager',
)

/** Flags of the commands that talk to a JobManager. */
const JOB_MANAGER_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  jobmanager: {
    type: 'string',
    short: 'm',
    value: restAddress,
    default: '127.0.0.1:8081',
    help: 'REST address of the JobManager, or of the process of a job',
  },
  ...JOB_MANAGER_TLS_OPTIONS,
}

/** Flags of the commands that only talk to a JobManager. */
export const JOB_MANAGER_CLIENT_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  ...JOB_MANAGER_OPTIONS,
  ...TOKEN_OPTIONS,
}

/** Flags of the commands whose job a JobManager can run instead of this process; those about it count for that alone. */
export const DETACH_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  detached: {
    type: 'boolean',
    short: 'd',
    help: 'Submit the job to a JobManager and return at once',
  },
  ...withNeed(JOB_MANAGER_OPTIONS, 'detached'),
}
