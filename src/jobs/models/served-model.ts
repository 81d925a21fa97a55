import { isWeirError, WeirError } from '../../core/errors.ts'
import { maxItemsOf } from '../../inference/engine/deployment-plan.ts'
import type { DevicePlacement } from '../../inference/port/device.ts'
import type { ModelId, ModelSource, PinnedFiles } from '../../inference/port/model.ts'
import { itemAxisOf, type ModelSignature } from '../../inference/port/signature.ts'
import { versionOf } from '../../inference/repository/name.ts'
import { reconcile } from '../../inference/repository/reconcile.ts'
import type { FoundModel } from '../../inference/repository/scan.ts'
import { DEFAULT_SETTINGS, type ModelSettings } from '../../inference/repository/settings.ts'
import type { ModelInfo, ModelVersionInfo, TensorSignature } from '../../wire/inference/models.ts'
import { batchingText, deviceTexts } from './status-texts.ts'

/** A failed load. */
interface FailedLoad {
  readonly fingerprint: string
  readonly error: WeirError
}

/** A version in the engine, under the settings that it was loaded with. */
export interface LoadedVersion {
  readonly signature: ModelSignature
  /** `ServedModel.revision` at their load. */
  readonly revision: number
  readonly settings: ModelSettings
  /** Name in the engine: another one for each revision, so that both run during a change of the settings. */
  readonly id: ModelId
  /** Its files at the first load. */
  readonly pinned: PinnedFiles
  readonly source: ModelSource
}

/** One model of the process: what its folder holds, and what is loaded, loading and live. */
export class ServedModel {
  readonly name: string
  /** What the last scan found; undefined when the folder is gone. */
  found: FoundModel | undefined
  /** Version that answers requests that name none; 0 for none. */
  live = 0
  /** An operator has unloaded the model. */
  isUnloaded = false
  /** Grows with each change of the settings. */
  revision = 0
  /** Number of the stored revision that the live version runs under; 0 for none. */
  storedRevision = 0
  readonly loading = new Set<number>()
  readonly loaded = new Map<number, LoadedVersion>()
  /** The aliases that could be read last. */
  aliases: Readonly<Record<string, number>> = {}
  /** Settings that could not be loaded; those before them go on. */
  failedSettings: { readonly revision: number; readonly error: WeirError } | undefined
  /** Why the stored revisions of the settings cannot be read. */
  revisionsProblem: WeirError | undefined
  /** The server is ready only if the model answers: it was there at the start, or has answered since. */
  isExpected = false
  private readonly failures = new Map<number, FailedLoad>()
  private before = new Map<number, string>()
  private lastSettings = ''

  constructor(name: string) {
    this.name = name
  }

  /** Takes what a scan found, and returns what is to be done. `held`: versions that pipelines name. */
  scanned(found: FoundModel | undefined, held: ReadonlySet<number>) {
    this.found = found
    const settings = JSON.stringify(found?.settings)
    // Settings that cannot be read change nothing: those before them go on.
    const isRead = !isWeirError(found?.settings) || this.revision === 0
    if (isRead && settings !== this.lastSettings) {
      this.revision++
      this.lastSettings = settings
      // What failed may have failed by its settings.
      this.forgetFailures()
    }
    if (found === undefined) this.aliases = {}
    else if (!isWeirError(found.aliases)) this.aliases = found.aliases
    const failed = new Map([...this.failures].map(([version, one]) => [version, one.fingerprint]))
    const readable = found === undefined ? undefined : { ...found, aliases: this.aliases }
    const decision = reconcile(readable, {
      loaded: new Set(this.loaded.keys()),
      loading: this.loading,
      failed,
      before: this.before,
      live: this.live,
      isUnloaded: this.isUnloaded,
      held,
    })
    this.before = new Map(found?.versions.map((one) => [one.version, one.fingerprint]))
    return decision
  }

  /** Whether the version that a request would ask for is still to be loaded. */
  isComing(alias: string | undefined): boolean {
    const { loading } = this
    const version = alias === undefined ? undefined : (this.aliases[alias] ?? versionOf(alias))
    return version === undefined ? loading.size > 0 : loading.has(version)
  }

  /** Whether nothing is left of the model. */
  get isGone(): boolean {
    return this.found === undefined && this.loaded.size === 0 && this.loading.size === 0
  }

  /** Loaded versions whose settings have changed since. */
  get outdated(): readonly number[] {
    const { revision } = this
    if (isWeirError(this.found?.settings) || this.failedSettings?.revision === revision) return []
    return [...this.loaded]
      .filter(([version, one]) => one.revision !== revision && !this.loading.has(version))
      .map(([version]) => version)
  }

  /** Id in the engine of a version under the present settings. */
  idOf(version: number): ModelId {
    return { name: this.revision === 1 ? this.name : `${this.name}#${this.revision}`, version }
  }

  /** Settings on disk. Throws why they cannot be read. */
  settings(): ModelSettings {
    const settings = this.found?.settings ?? DEFAULT_SETTINGS
    if (isWeirError(settings)) throw settings
    return settings
  }

  /** A load has failed; the version is tried again when its files change. */
  failed(version: number, error: WeirError): void {
    const fingerprint = this.before.get(version) ?? ''
    this.failures.set(version, { fingerprint, error })
  }

  /** A failed load is tried again; returns whether there was one with this error. */
  retry(version: number, error: WeirError): boolean {
    if (this.failures.get(version)?.error !== error) return false
    return this.failures.delete(version)
  }

  /** Whether an error is that of a load. */
  hasFailedWith(error: WeirError): boolean {
    if (this.failedSettings?.error === error) return true
    return [...this.failures.values()].some((failed) => failed.error === error)
  }

  /** Failed loads are tried again. */
  forgetFailures(): void {
    this.failures.clear()
  }

  /** What is wrong with the files of the model: each thing stays here until it is put right. */
  get problems(): readonly WeirError[] {
    const { settings, aliases, versions = [], problems = [] } = this.found ?? {}
    const newest = versions.at(-1)
    const failed = this.failedSettings
    return [
      settings,
      aliases,
      ...problems,
      failed?.revision === this.revision ? failed.error : undefined,
      this.revisionsProblem,
      newest?.source,
      newest === undefined ? undefined : this.failures.get(newest.version)?.error,
    ].filter((one) => isWeirError(one))
  }

  /** The first error of a version that should be live and is not. */
  get problem(): WeirError | undefined {
    const { settings, problems = [], versions = [] } = this.found ?? {}
    if (isWeirError(settings)) return settings
    for (const { version, source } of versions.toReversed()) {
      const error = this.failures.get(version)?.error ?? (isWeirError(source) ? source : undefined)
      if (error !== undefined) return error
    }
    return problems[0]
  }

  /**
   * The version that a request asks for by number, by alias, or by neither. Throws UNKNOWN_VERSION,
   * MODEL_NOT_LOADED.
   */
  versionFor(wanted: number, alias: string | undefined): number {
    const version = wanted !== 0 ? wanted : alias === undefined ? this.live : this.aliased(alias)
    if (this.loaded.has(version)) return version
    const known = this.found?.versions.some((one) => one.version === version) ?? false
    if (version !== 0 && !known) {
      const versions = this.found?.versions.map((one) => one.version).join(', ')
      const message = `model "${this.name}" has no version ${version}; the versions are ${versions}`
      throw new WeirError('UNKNOWN_VERSION', message)
    }
    throw new WeirError('MODEL_NOT_LOADED', this.whyNotLoaded(version))
  }

  private aliased(alias: string): number {
    const version = this.aliases[alias] ?? versionOf(alias)
    if (version !== undefined) return version
    const known = Object.keys(this.aliases).join(', ') || 'none'
    const message = `model "${this.name}" has no alias "${alias}"; the aliases are ${known}`
    throw new WeirError('UNKNOWN_VERSION', message)
  }

  private whyNotLoaded(version: number): string {
    const what = version === 0 ? `model "${this.name}"` : `version ${version} of "${this.name}"`
    if (this.isUnloaded)
      return `${what} was unloaded; load it with "weir model load --served ${this.name}"`
    if (this.loading.size > 0) return `${what} is being loaded; try again`
    const reason = version === 0 ? this.problem?.message : this.reasonOf(version)
    return `${what} is not loaded${reason === undefined ? '' : `: ${reason}`}`
  }

  /** The model as clients see it. `problemOf`: why a loaded version cannot answer now. `placements`: of its live version. */
  info(
    statistics: Readonly<Record<string, number>>,
    problemOf: (version: LoadedVersion) => string | undefined,
    placements?: readonly DevicePlacement[],
  ): ModelInfo {
    const live = this.loaded.get(this.live)
    const [first] = this.found?.versions ?? []
    const source = first?.source
    return {
      name: this.name,
      kind: source === undefined || isWeirError(source) ? '' : source.kind,
      liveVersion: this.live,
      versions: (this.found?.versions ?? []).map(({ version }) =>
        this.versionInfo(version, problemOf),
      ),
      aliases: this.aliases,
      inputs: tensorsOf(live, 'inputs'),
      outputs: tensorsOf(live, 'outputs'),
      revision: live === undefined ? 0 : this.storedRevision,
      ...batchingOf(live),
      ...(placements === undefined ? {} : { devices: deviceTexts(placements) }),
      ...(live?.signature.parts === true ? { parts: true } : {}),
      sloMs: live?.settings.deployment.sloMs ?? 0,
      problems: this.problems.map(({ message }) => message),
      isExpected: this.isExpected && !this.isUnloaded,
      statistics,
    }
  }

  private versionInfo(
    version: number,
    problemOf: (version: LoadedVersion) => string | undefined,
  ): ModelVersionInfo {
    const loaded = this.loaded.get(version)
    const reason = loaded === undefined ? undefined : problemOf(loaded)
    if (reason !== undefined) return { version, state: 'UNAVAILABLE', reason }
    if (loaded !== undefined) return { version, state: 'READY', reason: '' }
    if (this.loading.has(version)) return { version, state: 'LOADING', reason: '' }
    return { version, state: 'UNAVAILABLE', reason: this.reasonOf(version) }
  }

  /** Where the weights or the code of a version are; undefined where that cannot be read. */
  sourceOf(version: number): ModelSource | undefined {
    const source = this.found?.versions.find((one) => one.version === version)?.source
    return isWeirError(source) ? undefined : source
  }

  private reasonOf(version: number): string {
    if (this.isUnloaded) return 'unloaded'
    const failure = this.failures.get(version)?.error
    const source = this.found?.versions.find((one) => one.version === version)?.source
    if (failure !== undefined) return failure.message
    if (isWeirError(source)) return source.message
    const settings = this.found?.settings
    return isWeirError(settings) ? settings.message : 'neither live nor the target of an alias'
  }
}

function batchingOf(live: LoadedVersion | undefined) {
  if (live === undefined) return { maxBatchItems: 0, batching: '' }
  const { signature, settings } = live
  const mostItems = maxItemsOf(signature, settings.deployment)
  return {
    maxBatchItems: signature.alone === undefined ? mostItems : 0,
    batching: batchingText(signature, mostItems),
  }
}

function tensorsOf(
  live: LoadedVersion | undefined,
  side: 'inputs' | 'outputs',
): readonly TensorSignature[] {
  const { signature, settings } = live ?? {}
  // What a sequence carries its clients neither send nor get.
  const carried = settings?.sequence?.carried ?? []
  const hidden = carried.map((one) => (side === 'inputs' ? one.input : one.output))
  const specs = (signature?.[side] ?? []).filter(({ name }) => !hidden.includes(name))
  return specs.map((spec) => {
    const { name, datatype, shape, takes } = spec
    const axis = signature!.alone === undefined ? itemAxisOf(spec) : null
    return {
      name,
      datatype,
      shape,
      ...(axis === null ? {} : { itemAxis: axis }),
      ...(takes === undefined ? {} : { takes }),
    }
  })
}
