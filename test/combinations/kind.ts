import type { Installation, TopicEntry } from './installation.ts'
import type { Progress } from './plain/progress.ts'
import type { Rows, Service } from './service.ts'

/** A way to ask for predictions. */
export type Face = 'client' | 'command' | 'gateway'

/** Where an observation is that a delta is from. */
export interface DeltaOrigin {
  readonly version: number
  readonly partition: number
  readonly offset: number
}

/** A prediction that was asked, and the same from rows, computed one by one. */
export interface ComparedPrediction {
  readonly what: string
  readonly answer: number
  readonly own: number
}

/** What a user has: a kind of model, its observations, and the commands of its life. */
export interface Kind {
  readonly name: string
  /** Name of the model, and of its topic. */
  readonly model: string
  /** Topic of observations. */
  readonly observations: string
  readonly state: 'ALS_MODEL' | 'SVM_MODEL'
  /** Lines of observations that the first version is trained on. */
  readonly base: readonly string[]
  /** Lines of later observations. */
  readonly stream: readonly string[]
  /** Lines that nothing is trained on, and that nothing learns. */
  readonly golden: readonly string[]
  /** Keys of all rows that a version may have. */
  readonly keys: readonly string[]
  /** Commands that serve a model of the kind, and that learn it. */
  readonly serve: readonly string[]
  readonly learn: readonly string[]
  /** Whether each observation has a step: examples that a hinge loss is content with have none. */
  readonly stepsAlways: boolean
  /** Publishes the first version. The installation has the files `base` and `golden`. */
  publish(at: Installation): Promise<void>
  /** Observations to send for `lines`. */
  sent(lines: readonly string[]): readonly string[]
  /** Losses of the golden set, one for each case, from rows. */
  losses(rows: Rows): readonly number[]
  /** Recomputes what a published version learns by default; `from`: offset of the first observation that it learns. */
  recomputed(at: Installation, version: number, from: number): Promise<Progress>
  /** The mean of these losses as the product measures it. */
  evaluated(at: Installation, service: Service): Promise<number>
  /** Predictions of a face beside those of rows. */
  predictions(face: Face, asked: Asked): Promise<readonly ComparedPrediction[]>
  /** Key of a row in an exported file. */
  exportKey(key: string): string
  originOf(delta: TopicEntry): DeltaOrigin
}

/** What predictions are asked of. */
export interface Asked {
  readonly at: Installation
  readonly service: Service
  /** The JSON of a path of a gateway in front of the service, for the face `gateway`; a `body` is posted. */
  readonly gateway?: (path: string, body?: object) => Promise<unknown>
  readonly rows: Rows
}
