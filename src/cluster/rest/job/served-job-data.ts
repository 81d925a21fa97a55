import type { Clock } from '../../../core/clock.ts'
import { WeirError } from '../../../core/errors.ts'
import type { ServedJob, ServedModel } from '../../../jobs/served-job.ts'
import { alsKey, idOfKey, KEY_SUFFIXES, MEAN_KEYS } from '../../../models/als/row-key.ts'
import type { RegistryState } from '../../../models/registry/version.ts'
import { ALS_MODEL } from '../../../models/topic/als-serving-function.ts'
import {
  type LiveSwitch,
  ModelAdministration,
  versionNamed,
} from '../../../models/versions/model-administration.ts'
import { ModelRegistry } from '../../../models/versions/model-registry.ts'
import type { ModelReader } from '../../../wire/model-reader.ts'
import type { QueryableStateInfo } from '../../../wire/routing-table.ts'
import type {
  DifferenceRequest,
  DifferenceView,
  EntryRequest,
  EntryView,
  JobData,
  ModelsView,
  PromotionRequest,
  RecommendationsRequest,
  RecommendationsView,
  RollbackRequest,
  RowsRequest,
  RowsView,
  ServedModelsView,
  StatesView,
  SwitchView,
  TopicsView,
} from '../port/job-data.ts'
import type { ItemTitles } from './item-titles.ts'
import { differenceView, modelsView } from './model-reads.ts'
import { servedModelsView } from './served-models.ts'
import { sourceTopics } from './source-topics.ts'
import { readEntry, readRows } from './state-reads.ts'

/** State, models and topics of the job of this process. */
export class ServedJobData implements JobData {
  private readonly job: ServedJob
  private readonly clock: Clock
  private readonly titles: ItemTitles

  constructor(job: ServedJob, clock: Clock, titles: ItemTitles) {
    this.job = job
    this.clock = clock
    this.titles = titles
  }

  async states(): Promise<StatesView> {
    return { states: this.served() }
  }

  async entry(request: EntryRequest): Promise<EntryView> {
    return await readEntry(await this.job.reader(), this.served(), request)
  }

  async rows(request: RowsRequest): Promise<RowsView> {
    return await readRows(await this.job.reader(), this.served(), request)
  }

  async models(): Promise<ModelsView> {
    const { topic: model, state, unfinished } = this.model()
    const facts = { model, state, served: this.state(state), unfinished: unfinished() }
    return modelsView({ ...facts, registry: await this.registry() })
  }

  async difference({ a, b }: DifferenceRequest): Promise<DifferenceView> {
    const { topic, state } = this.model()
    const registry = await this.registry()
    const versions = [versionNamed(registry, topic, a), versionNamed(registry, topic, b)] as const
    return await differenceView(await this.job.reader(), versions, this.state(state))
  }

  async promote({ version, ...options }: PromotionRequest): Promise<SwitchView> {
    const administration = this.administration()
    const switched = await administration.promote(await administration.registered(version), options)
    return this.switched(switched, switched.isForced ? 'forced' : 'promoted')
  }

  async rollBack({ expectLive, reason = 'by hand' }: RollbackRequest): Promise<SwitchView> {
    const switched = await this.administration().rollBack({ expectLive, reason })
    return this.switched(switched, 'rolled back')
  }

  async recommendations(request: RecommendationsRequest): Promise<RecommendationsView> {
    const found = await recommend(await this.job.reader(), this.served(), request)
    const items = found.items.map((one) => {
      const title = this.titles.get(one.item)
      return title === undefined ? one : { ...one, title }
    })
    return { ...found, items }
  }

  async servedModels(): Promise<ServedModelsView> {
    return servedModelsView(this.job.askedModels?.list() ?? [])
  }

  async topics(): Promise<TopicsView> {
    return { sources: await sourceTopics(this.job.execution) }
  }

  private served(): readonly QueryableStateInfo[] {
    return this.job.queries.routing.states
  }

  private state(name: string): QueryableStateInfo | undefined {
    return this.served().find((state) => state.name === name)
  }

  private registry(): Promise<RegistryState> {
    return this.administration().read()
  }

  private administration(): ModelAdministration {
    const { registry: place, place: topics, topic: model } = this.model()
    const { clock } = this
    const registry = new ModelRegistry({ place, clock })
    return new ModelAdministration({ registry, place: topics, model, clock })
  }

  /** Throws UNSUPPORTED for a job that serves no model. */
  private model(): ServedModel {
    const { model } = this.job
    if (model !== undefined) return model
    throw new WeirError(
      'UNSUPPORTED',
      `job ${this.job.execution.jobId} serves no model of the registry; "weir run als-serving" and "weir learn" do`,
    )
  }

  private switched({ live, before }: LiveSwitch, how: SwitchView['how']): SwitchView {
    return { model: this.model().topic, live, before, how }
  }
}

/** The items with the highest predictions for a user. Throws UNKNOWN_VERSION, UNSUPPORTED. */
async function recommend(
  reader: ModelReader,
  states: readonly QueryableStateInfo[],
  { user, k, version }: RecommendationsRequest,
): Promise<RecommendationsView> {
  const state = ALS_MODEL
  if (states.every(({ name }) => name !== state)) {
    throw new WeirError(
      'UNSUPPORTED',
      `the job has no state ${state}; recommendations need a job that serves an ALS model`,
    )
  }
  const key = alsKey(user, 'U')
  const wanted = version === undefined ? {} : { version }
  const [row] = await reader.rows(state, [key], wanted)
  const isUserKnown = row!.ok
  if (!row!.ok && row!.error.code !== 'UNKNOWN_KEY') throw row!.error
  const answer = await reader.topK(state, isUserKnown ? key : MEAN_KEYS.U, {
    k,
    suffix: KEY_SUFFIXES.I,
    // A row that is removed meanwhile is answered with the mean row, too.
    cold: MEAN_KEYS.U,
    ...(row!.ok ? { version: row!.envelope.modelVersion } : wanted),
  })
  if (!answer.ok) throw answer.error
  const items = answer.value.map((found) => ({ item: idOfKey(found.key), score: found.score }))
  const { envelope } = answer
  return { user, isUserKnown, modelVersion: envelope.modelVersion, items, envelope }
}
