import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Cancel, Clock } from '../../core/clock.ts'
import { asWeirError, isWeirError, WeirError } from '../../core/errors.ts'
import type { FileSystem } from '../../files/file-system.ts'
import { wireAnswer } from '../../inference/engine/wire-answer.ts'
import type { InferenceEngine } from '../../inference/port/engine.ts'
import type { ModelId } from '../../inference/port/model.ts'
import { readGolden } from '../../inference/repository/golden.ts'
import { parseReference } from '../../inference/repository/name.ts'
import { presentRevision } from '../../inference/repository/revisions.ts'
import { pinnedSource, scanRepository, sourceOf } from '../../inference/repository/scan.ts'
import { verifyVersion } from '../../inference/repository/verify.ts'
import type {
  InferTerms,
  ModelState,
  ModelsBackend,
  VersionedInferAnswer,
} from '../../serving/port/models-backend.ts'
import type { InferRequest } from '../../wire/inference/infer.ts'
import type { ModelInfo } from '../../wire/inference/models.ts'
import type { AskedModel } from '../asked-models.ts'
import { askedSettings } from './asked-settings.ts'
import type { ModelEvent } from './events.ts'
import { ModelCaches } from './model-caches.ts'
import { ModelSequences } from './model-sequences.ts'
import { numbersOf } from './numbers.ts'
import { partsOf } from './parts-of-model.ts'
import { checkLoaded, checkMemory } from './promotion-checks.ts'
import { RemoteWatches } from './remote-watches.ts'
import { ReportedProblems } from './reported-problems.ts'
import { type LoadedVersion, ServedModel } from './served-model.ts'
import { ServedNames } from './served-names.ts'
import { withSamples } from './warm-samples.ts'

/** Options of the served models. */
export interface ServedModelsOptions {
  readonly engine: InferenceEngine
  readonly files: FileSystem
  /** Folder of the repository. */
  readonly repository: string
  readonly clock: Clock
  /** Time between two looks at the repository, in ms. @default 500 */
  readonly scanMs?: number
  /** Called when a model changes. */
  readonly onEvent: (event: ModelEvent) => void
  /** Counters of what runs in no worker, a pipeline; undefined for the others. @default none */
  readonly numbersOf?: (id: ModelId) => Readonly<Record<string, number>> | undefined
  /** Called when another version answers, before the one that did is unloaded. */
  readonly onChange?: () => void
}

const SCAN_MS = 500
/** A look at a thousand folders takes a while: the pause after it is so many times as long. */
const PAUSE_PER_LOOK = 10
/** Models after which requests have their turn. */
const MODELS_A_TURN = 32

/**
 * Models of a repository, loaded into an engine: looks at the folder again and again, loads what is new, and
 * makes a new version live when it is loaded. Other models answer meanwhile. Above 300 lines: every step changes one table.
 */
export class ServedModels implements ModelsBackend, AsyncDisposable {
  private readonly options: ServedModelsOptions
  private readonly models = new Map<string, ServedModel>()
  /** Finds models by what requests and pipelines call them. */
  readonly names = new ServedNames(this.models)
  private readonly caches: ModelCaches
  /** What models carry from one request of a client to the next. */
  readonly sequences: ModelSequences
  private readonly remotes: RemoteWatches
  private readonly work = new Map<Promise<void>, ServedModel>()
  /** Gives up the loads that are under way. */
  private readonly closing = new AbortController()
  private hasLooked = false
  /** Time of the last look at the repository, ms. */
  private lookMs = 0
  private scanning: Promise<void> | undefined
  private cancelScan: Cancel | undefined
  private lastProblem = ''
  private readonly reported = new ReportedProblems()
  private isClosed = false
  /** Grows with each change that clients see. */
  epoch = 1

  constructor(options: ServedModelsOptions) {
    this.options = options
    this.caches = new ModelCaches(options.engine, options.clock)
    this.sequences = new ModelSequences(this.caches, options.clock)
    this.remotes = new RemoteWatches(options.clock, (error) => {
      this.changed()
      options.onEvent({ event: 'remote', error })
    })
  }

  /**
   * Looks at the repository, and begins to load what is there and to watch it. Resolves when each model that is there is
   * loaded or has failed.
   */
  async start(): Promise<void> {
    await this.look()
    const models = [...this.models.values()]
    await Promise.all(models.map((model) => this.loaded(model)))
  }

  /** As `start`, but resolves when the models that are there are known: they may still be loaded. */
  async look(): Promise<void> {
    await this.scan()
    await this.scan()
    this.schedule()
  }

  /** Resolves when nothing of a model is being loaded or unloaded. Another model may take as long as it likes. */
  private async loaded(model: ServedModel): Promise<void> {
    for (;;) {
      const work = [...this.work].filter(([, of]) => of === model)
      if (work.length === 0) return
      await Promise.all(work.map(([promise]) => promise))
    }
  }

  private schedule(): void {
    if (this.isClosed) return
    const { clock, scanMs = SCAN_MS } = this.options
    const pauseMs = Math.max(scanMs, PAUSE_PER_LOOK * this.lookMs)
    this.cancelScan = clock.after(pauseMs, () => void this.scan().finally(() => this.schedule()))
  }

  /** Looks at the repository once. Calls at the same time share the scan that begins next. */
  private async scan(): Promise<void> {
    while (this.scanning !== undefined) await this.scanning
    const { clock } = this.options
    const startedAt = clock.monotonicMs()
    this.scanning = this.scanNow().finally(() => {
      this.lookMs = clock.monotonicMs() - startedAt
      this.scanning = undefined
    })
    await this.scanning
  }

  private async scanNow(): Promise<void> {
    const { files, repository } = this.options
    try {
      const { models, problems } = await scanRepository(files, repository)
      const found = new Map(models.map((model) => [model.name, model]))
      for (const name of found.keys()) {
        if (this.models.has(name)) continue
        const model = new ServedModel(name)
        model.isExpected = !this.hasLooked
        this.models.set(name, model)
      }
      let turn = 0
      for (const model of [...this.models.values()]) {
        this.apply(model, found.get(model.name))
        if (++turn % MODELS_A_TURN === 0) await nextTurn()
      }
      this.hasLooked = true
      this.report(problems[0])
    } catch (error) {
      this.report(asWeirError(error, 'STORAGE_FAILED', `cannot read ${repository}`))
    }
  }

  /** Reports a problem of the repository once, not at each scan. */
  private report(problem: WeirError | undefined): void {
    const text = problem?.message ?? ''
    if (text !== this.lastProblem && problem !== undefined) {
      this.options.onEvent({ event: 'repository', error: problem })
    }
    this.lastProblem = text
  }

  private apply(model: ServedModel, found: ServedModel['found']): void {
    const { load, unload, live } = model.scanned(found, this.names.heldOf(model.name))
    this.setLive(model, live)
    for (const version of unload) this.run(model, this.unload(model, version))
    for (const version of [...load, ...model.outdated]) this.run(model, this.load(model, version))
    if (model.isGone) {
      this.models.delete(model.name)
      this.sequences.forget(model)
      this.remotes.retries.ended(model.name)
    } else {
      this.noteRevision(model)
      this.reportProblems(model)
    }
  }

  private reportProblems(model: ServedModel): void {
    const problems = this.reported.changed(model)
    if (problems === undefined) return
    this.changed()
    for (const error of problems) {
      this.options.onEvent({ event: 'problem', model: model.name, error })
    }
  }

  /** The settings on disk are those of the live version, unless they are still being loaded. */
  private noteRevision(model: ServedModel): void {
    const { files, repository } = this.options
    const isPresent = model.loaded.get(model.live)?.revision === model.revision
    if (!isPresent || model.found === undefined || isWeirError(model.found.settings)) return
    try {
      model.storedRevision = presentRevision(files, { root: repository, name: model.name })
      model.revisionsProblem = undefined
    } catch (error) {
      model.revisionsProblem = asWeirError(error, 'STORAGE_FAILED', `cannot read ${repository}`)
    }
  }

  private setLive(model: ServedModel, live: number): void {
    if (model.live === live) return
    model.live = live
    if (live !== 0) model.isExpected = true
    this.changed()
    if (live !== 0) this.options.onEvent({ event: 'live', model: model.name, version: live })
  }

  private changed(): void {
    this.epoch++
    this.options.onChange?.()
  }

  /** As `ServedNames.resolve`. */
  resolve(reference: string): ModelId {
    return this.names.resolve(reference)
  }

  private run(model: ServedModel, work: Promise<void>): void {
    const tracked = work.finally(() => this.work.delete(tracked))
    this.work.set(tracked, model)
  }

  private async load(model: ServedModel, version: number): Promise<void> {
    const { engine, files, clock, onEvent } = this.options
    const { name } = model
    const startedAt = clock.monotonicMs()
    model.loading.add(version)
    try {
      const found = model.found!.versions.find((one) => one.version === version)!
      const settings = model.settings()
      const { revision } = model
      const id = model.idOf(version)
      // A version that is loaded keeps its content; only its settings have changed.
      const before = model.loaded.get(version)
      const pinned = before?.pinned ?? (await verifyVersion(files, found.folder))
      const source = pinnedSource(sourceOf(found), pinned)
      const golden = readGolden(files, join(this.options.repository, name))
      const deployment = await checkMemory(engine, source, withSamples(settings, golden))
      const signature = await engine.load(id, source, deployment, this.closing.signal)
      const candidate = { id, signature, settings, golden }
      await checkLoaded(engine, model, candidate).catch(async (error) => {
        await engine.unload(id)
        throw error
      })
      await this.caches.warm(model, { id, settings, revision })
      model.loaded.set(version, { signature, revision, settings, id, pinned, source })
      this.remotes.add(name, source)
      if (before !== undefined) this.remotes.remove(before.source)
      this.changed()
      if (before !== undefined) this.run(model, engine.unload(before.id))
      onEvent({ event: 'loaded', model: name, version, ms: clock.monotonicMs() - startedAt })
    } catch (thrown) {
      const error = asWeirError(thrown, 'MODEL_FAILED')
      if (model.loaded.has(version)) model.failedSettings = { revision: model.revision, error }
      else this.failed(model, version, error)
    } finally {
      model.loading.delete(version)
      this.changed()
    }
    // What is wanted may have changed meanwhile; the decision is made again.
    this.apply(model, model.found)
  }

  /** A load has failed: what failed in the same way before is not reported again. */
  private failed(model: ServedModel, version: number, error: WeirError): void {
    const { name } = model
    const { retries } = this.remotes
    const isKnown = retries.isKnown(name, error)
    model.failed(version, error)
    retries.failed(name, model.sourceOf(version), error, () => {
      if (model.retry(version, error)) this.apply(model, model.found)
    })
    if (!isKnown) this.options.onEvent({ event: 'failed', model: name, version, error })
  }

  private async unload(model: ServedModel, version: number): Promise<void> {
    const { engine, onEvent } = this.options
    const loaded = model.loaded.get(version)
    if (loaded === undefined) return
    model.loaded.delete(version)
    this.remotes.remove(loaded.source)
    this.changed()
    // The engine takes an id again only when it has ended it.
    model.loading.add(version)
    await engine.unload(loaded.id).finally(() => model.loading.delete(version))
    onEvent({ event: 'unloaded', model: model.name, version })
  }

  async infer(
    reference: string,
    { inputs, outputs }: InferRequest,
    terms: InferTerms,
  ): Promise<VersionedInferAnswer> {
    const { model, loaded, request } = this.asking(reference, inputs, terms)
    const answer = await this.sequences.infer(model, loaded, { request, terms: terms.sequence })
    return { version: answer.version, answer: wireAnswer(answer, outputs) }
  }

  async *inferParts(
    reference: string,
    asked: InferRequest,
    terms: InferTerms,
  ): AsyncGenerator<VersionedInferAnswer> {
    const { loaded, request } = this.asking(reference, asked.inputs, terms)
    if (loaded.signature.parts !== true) yield await this.infer(reference, asked, terms)
    else yield* partsOf(this.options.engine, { ...request, terms }, asked.outputs)
  }

  /** The version that is asked, and the request for it. Throws as `versionFor`. */
  private asking(
    reference: string,
    inputs: InferRequest['inputs'],
    { version: wanted, owner, deadlineMs, context }: InferTerms,
  ) {
    const { model, alias } = this.names.referred(reference)
    const loaded = model.loaded.get(model.versionFor(wanted, alias))!
    const deadline = deadlineMs === undefined ? {} : { deadlineMs }
    const request = { model: loaded.id, inputs, asker: owner, context, ...deadline }
    return { model, loaded, request }
  }

  list(name: string): readonly ModelInfo[] {
    const models =
      name === '' ? [...this.models.values()] : [this.names.find(parseReference(name).name)]
    // Those of a thousand models take a while, and each new client of one model asks for it.
    const statisticsOf = (id: ModelId | undefined) =>
      id === undefined ? undefined : this.options.engine.statistics(id)[0]
    return models.map((model) => {
      const live = statisticsOf(model.loaded.get(model.live)?.id)
      const problemOf = ({ id, source }: LoadedVersion): string | undefined =>
        statisticsOf(id)?.problem ?? this.remotes.problemOf(source)
      const { id } = model.loaded.get(model.live) ?? {}
      const own = id === undefined ? undefined : this.options.numbersOf?.(id)
      const numbers = { ...numbersOf(live), ...own, ...this.sequences.statisticsOf(model) }
      return model.info(numbers, problemOf, live?.placements)
    })
  }

  states(): readonly ModelState[] {
    return Array.from(this.models.values(), ({ name, loaded, live }) => ({
      name,
      versions: [...loaded.keys()].sort((a, b) => a - b),
      liveVersion: live,
    }))
  }

  /** All models with the settings of their live version. */
  asked(): readonly AskedModel[] {
    return this.list('').map((info) => ({
      info,
      settings: askedSettings(this.models.get(info.name)!.loaded.get(info.liveVersion)),
    }))
  }

  async change(action: 'load' | 'unload', name: string): Promise<void> {
    const model = this.names.find(name)
    model.isUnloaded = action === 'unload'
    model.forgetFailures()
    // Twice, because files count only when they do not change.
    await this.scan()
    await this.scan()
    await this.loaded(model)
    if (action === 'load' && model.live === 0) {
      throw (
        model.problem ?? new WeirError('MODEL_NOT_LOADED', `model "${name}" has no version to load`)
      )
    }
  }

  /** Ends the watch, and gives up the loads that are under way. The engine is the caller's. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.isClosed = true
    this.cancelScan?.()
    this.remotes[Symbol.dispose]()
    this.closing.abort(new WeirError('ILLEGAL_STATE', 'the process ends'))
    while (this.work.size > 0) await Promise.all(this.work.keys())
  }
}
