import { requireArgument, WeirError } from '../../core/errors.ts'
import { HIGHEST_VERSION } from '../../core/model-version.ts'
import type { ModelInfo, ModelVersionInfo } from '../../wire/inference/models.ts'
import { MODEL_KIND, type QueryableStateInfo, type RoutingTable } from '../../wire/routing-table.ts'
import type { ServedState, ServedTensorModels } from '../port/services.ts'
import { requireReady } from '../routes/require-live.ts'
import { AlsModel } from './als-model.ts'
import { LinearModel, linearFormOf } from './linear-model.ts'
import type { InferenceModel } from './model.ts'
import { TensorModel } from './tensor-model.ts'

/** The form of a linear model before anything is known of it. */
const TWO_LABELS = { hasNames: false, hasClasses: false }

/** A model that the job serves, with what is known of its versions. */
export interface ServedModelEntry {
  readonly info: QueryableStateInfo
  readonly model: InferenceModel
  /** Every version with its state, the loaded ones and others. */
  readonly versions: readonly ModelVersionInfo[]
  /** As `ModelInfo.problems`. */
  readonly problems: readonly string[]
}

/** The models that a job serves now: a view of its routing table. */
export class ModelRepository {
  private readonly state: ServedState
  /** Kinds of models of rows by the name of their state. */
  private readonly kinds: Readonly<Record<string, InferenceModel>>
  /** Signatures of models of other kinds; they hold for one epoch of the routing table. */
  private signatures = new Map<string, Promise<ModelInfo>>()
  private epoch = -1
  /** Models that were found in a routing table; they hold as long as it is the newest one. */
  private entries = new Map<string, ServedModelEntry>()
  private table: RoutingTable | undefined
  private readonly tensorModel = new WeakMap<ModelInfo, TensorModel>()

  constructor(state: ServedState) {
    this.state = state
    this.kinds = { ALS_MODEL: new AlsModel(state), SVM_MODEL: new LinearModel(state, TWO_LABELS) }
  }

  /** All models, by name, as the job has them now. Rejects when it does not answer. */
  async all(): Promise<readonly ServedModelEntry[]> {
    await this.state.refreshRouting()
    return await Promise.all(this.listed().map((info) => this.entryOf(info)))
  }

  private listed(): readonly QueryableStateInfo[] {
    return this.state.routing.states.filter(
      ({ name, kind }) => kind === MODEL_KIND || Object.hasOwn(this.kinds, name),
    )
  }

  /** As `find`, for a model that was found before; undefined if the job has changed since. */
  known(name: string, version: string | undefined): ServedModelEntry | undefined {
    const { routing } = this.state
    if (routing !== this.table) {
      this.table = routing
      this.entries = new Map()
    }
    const entry = this.entries.get(name)
    const isLoaded = version === undefined || entry?.info.versions.includes(Number(version))
    return isLoaded === true ? entry : undefined
  }

  /** As `find`, with the states of the versions as they are now. */
  async findNow(name: string, version: string | undefined): Promise<ServedModelEntry> {
    this.signatures.delete(name.split('@')[0]!)
    return await this.find(name, version)
  }

  /**
   * A model, or a model and its alias (`NAME@ALIAS`), and the version that the path names. Throws UNKNOWN_MODEL,
   * UNKNOWN_VERSION, MODEL_NOT_LOADED for a version that is there and not loaded.
   */
  async find(name: string, version: string | undefined): Promise<ServedModelEntry> {
    const [base] = name.split('@')
    const named = (info: QueryableStateInfo): boolean => info.name === base
    let found = this.listed().find(named)
    if (found === undefined || found.liveVersion === 0) {
      // A gateway without other requests does not notice a model that is new, or that goes live.
      await this.state.refreshRouting()
      found = this.listed().find(named)
    }
    if (found === undefined) {
      const known =
        this.listed()
          .map((info) => info.name)
          .join(', ') || 'none'
      throw new WeirError('UNKNOWN_STATE', `no model is named "${name}"; the models are ${known}`)
    }
    const { routing } = this.state
    const entry = await this.entryOf(found)
    if (version !== undefined && !found.versions.includes(versionNumber(version))) {
      requireReady(entry, versionNumber(version))
      const known = found.versions.join(', ') || 'none'
      const message = `model "${name}" has no version ${version}; loaded are ${known}`
      throw new WeirError('UNKNOWN_VERSION', message)
    }
    if (routing === this.table && entry.model.inputs.length > 0) this.entries.set(name, entry)
    return entry
  }

  private async entryOf(info: QueryableStateInfo): Promise<ServedModelEntry> {
    if (info.kind === MODEL_KIND) {
      const signature = await this.signatureOf(info.name)
      const { versions, problems } = signature
      return { info, model: this.modelOf(signature), versions, problems }
    }
    const versions = info.versions.map((version) => ({
      version,
      state: 'READY' as const,
      reason: version === info.liveVersion ? 'live' : '',
    }))
    const known = this.kinds[info.name]!
    const model =
      known instanceof LinearModel ? new LinearModel(this.state, linearFormOf(info)) : known
    return { info, model, versions, problems: [] }
  }

  /** One object for each signature: what is remembered about a model hangs on it. */
  private modelOf(signature: ModelInfo): TensorModel {
    const known = this.tensorModel.get(signature)
    if (known !== undefined) return known
    const model = new TensorModel(this.tensorModels(), signature)
    this.tensorModel.set(signature, model)
    return model
  }

  /** Loads or unloads a model of any kind. Throws UNSUPPORTED for a model of rows. */
  async change(action: 'load' | 'unload', name: string): Promise<void> {
    const { info } = await this.find(name, undefined)
    if (info.kind === MODEL_KIND) {
      await this.tensorModels().changeModel(action, name)
      await this.state.refreshRouting()
      return
    }
    throw new WeirError(
      'UNSUPPORTED',
      `versions of "${name}" come from its model topic; use "weir model load", "promote" or "rollback"`,
    )
  }

  private signatureOf(name: string): Promise<ModelInfo> {
    const { epoch } = this.state.routing
    if (epoch !== this.epoch) this.signatures = new Map()
    this.epoch = epoch
    const known = this.signatures.get(name)
    if (known !== undefined) return known
    const asked = this.tensorModels().signature(name)
    this.signatures.set(name, asked)
    asked.then(
      // A model that is not live has no inputs yet.
      ({ liveVersion }) => liveVersion === 0 && this.signatures.delete(name),
      () => this.signatures.delete(name),
    )
    return asked
  }

  private tensorModels(): ServedTensorModels {
    const { state } = this
    if (isTensorModels(state)) return state
    throw new WeirError('UNSUPPORTED', 'the reader of this gateway serves models of rows only')
  }
}

function isTensorModels(state: ServedState): state is ServedState & ServedTensorModels {
  return state.inferRaw !== undefined && state.signature !== undefined
}

/** The number of a version in a path. Throws INVALID_ARGUMENT, and UNKNOWN_VERSION for one above `HIGHEST_VERSION`. */
export function versionNumber(text: string): number {
  const number = Number(text)
  const range = `versions are whole numbers from 1 to ${HIGHEST_VERSION}`
  requireArgument(
    /^[1-9][0-9]*$/.test(text),
    `"${text.slice(0, 40)}" is no model version; ${range}`,
  )
  if (number <= HIGHEST_VERSION) return number
  throw new WeirError('UNKNOWN_VERSION', `there is no version ${text.slice(0, 40)}; ${range}`)
}
