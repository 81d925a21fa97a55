import { WeirError } from '../../../core/errors.ts'
import type { JobData, ServedModelsView, StatesView, TopicsView } from '../../rest/port/job-data.ts'

/** The state, models and topics of a job in many processes: the REST interface shows none of them yet. */
export class ScaledJobData implements JobData {
  async states(): Promise<StatesView> {
    return { states: [] }
  }

  async servedModels(): Promise<ServedModelsView> {
    return { models: [] }
  }

  async topics(): Promise<TopicsView> {
    return { sources: [] }
  }

  entry = refuse
  rows = refuse
  models = refuse
  difference = refuse
  promote = refuse
  rollBack = refuse
  recommendations = refuse
}

function refuse(): Promise<never> {
  const message =
    'the REST interface of a job in many processes shows neither its state nor its models'
  return Promise.reject(new WeirError('UNSUPPORTED', message))
}
