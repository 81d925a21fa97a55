import { WeirError } from '../../../core/errors.ts'
import type { AskedModel } from '../../../jobs/asked-models.ts'
import type { JobData, ServedModelsView, StatesView, TopicsView } from '../port/job-data.ts'
import { servedModelsView } from './served-models.ts'

/** The models of a process that serves models of any kind; it has no state, no topics and no versions of rows. */
export class ModelsData implements JobData {
  private readonly list: () => readonly AskedModel[]

  constructor(list: () => readonly AskedModel[]) {
    this.list = list
  }

  async servedModels(): Promise<ServedModelsView> {
    return servedModelsView(this.list())
  }

  async states(): Promise<StatesView> {
    return { states: [] }
  }

  async topics(): Promise<TopicsView> {
    return { sources: [] }
  }

  entry(): Promise<never> {
    return refuse('a job that serves state has keys')
  }

  rows(): Promise<never> {
    return refuse('a job that serves state has rows')
  }

  models(): Promise<never> {
    return refuse('"weir model status" lists them')
  }

  difference(): Promise<never> {
    return refuse('versions of rows are compared by the job that serves them')
  }

  promote(): Promise<never> {
    return refuse(
      'its live versions follow the folder: see "weir model push" and "weir model alias"',
    )
  }

  rollBack(): Promise<never> {
    return refuse('its live versions follow the folder: see "weir model alias"')
  }

  recommendations(): Promise<never> {
    return refuse('recommendations are of a job that serves ALS rows')
  }
}

function refuse(hint: string): Promise<never> {
  const sentence = `this process serves models of any kind; ${hint}`
  return Promise.reject(new WeirError('UNSUPPORTED', sentence))
}
