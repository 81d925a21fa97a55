/** Environment variable that makes `weir` run a job for a JobManager: the id of the job. */
export const JOB_ID_VARIABLE = 'WEIR_JOB_ID'

/** The title of the process of a job, as `ps` shows it. */
export function jobProcessTitle(jobId: string): string {
  return `weir job ${jobId}`
}
