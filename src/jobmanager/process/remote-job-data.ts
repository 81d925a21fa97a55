import type { JobData } from '../../rest/port/job-data.ts'

/** Sends a request to the process of a job; resolves with its answer. */
type Ask = (of: keyof JobData, request: object) => Promise<unknown>

/** State, models and topics of a job in another process. */
export function remoteJobData(ask: Ask): JobData {
  const method = <M extends keyof JobData>(of: M): JobData[M] => {
    const call = (request: object): Promise<unknown> => ask(of, request)
    return call as unknown as JobData[M]
  }
  return {
    states: method('states'),
    entry: method('entry'),
    rows: method('rows'),
    models: method('models'),
    difference: method('difference'),
    promote: method('promote'),
    rollBack: method('rollBack'),
    recommendations: method('recommendations'),
    servedModels: method('servedModels'),
    topics: method('topics'),
  }
}
