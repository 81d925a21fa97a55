import { WeirError } from '../../../core/errors.ts'
import type { Cluster } from '../port/cluster.ts'
import type { JobControl } from '../port/job-control.ts'
import { processSnapshot } from './process-snapshot.ts'

/** Options of a process that runs one job and shows it over REST. */
export interface SingleJobClusterOptions {
  readonly version: string
  readonly job: JobControl
  readonly configuration: Readonly<Record<string, string>>
  readonly queryPort: number | undefined
}

/** The cluster of a process that runs one job, without a JobManager. */
export function singleJobCluster(options: SingleJobClusterOptions): Cluster {
  const { job, version, configuration, queryPort } = options
  const refuse = (what: string): Promise<never> => {
    const message = `this process runs one job; start "weir cluster start" (or "weir jobmanager") to ${what}`
    return Promise.reject(new WeirError('UNSUPPORTED', message))
  }
  return {
    version,
    isJobManager: false,
    configuration,
    process: () => processSnapshot(queryPort),
    jobs: async () => [await job.snapshot()],
    job: (id) => (id === job.id ? job : undefined),
    submit: () => refuse('submit jobs'),
    rescale: () => refuse('rescale jobs'),
    shutDown: () => refuse('shut a cluster down'),
    logs: undefined,
    logsOf: () => undefined,
  }
}
