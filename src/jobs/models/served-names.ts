import type { ModelId } from '../../inference/port/model.ts'
import { parseReference, versionOf } from '../../inference/repository/name.ts'
import type { ServedModel } from './served-model.ts'
import { unknownModel } from './unknown-model.ts'

/** A model, and the alias by which a request names its version. */
export interface Referred {
  readonly model: ServedModel
  readonly alias?: string
}

/** Finds models by what requests and pipelines call them, and keeps which versions pipelines name. */
export class ServedNames {
  private readonly models: ReadonlyMap<string, ServedModel>
  /** Pipelines that name a version, by model and version. */
  private readonly held = new Map<string, Map<number, number>>()

  constructor(models: ReadonlyMap<string, ServedModel>) {
    this.models = models
  }

  /** The model of a name. Throws UNKNOWN_MODEL. */
  find(name: string): ServedModel {
    const model = this.models.get(name)
    if (model !== undefined) return model
    throw unknownModel(name, [...this.models.keys()])
  }

  /** The model and the alias of a reference. Throws UNKNOWN_MODEL, INVALID_ARGUMENT. */
  referred(reference: string): Referred {
    // The name of a model needs no check: nearly every request has one, and nothing else.
    const named = this.models.get(reference)
    if (named !== undefined) return { model: named }
    const { name, alias } = parseReference(reference)
    const model = this.find(name)
    return alias === undefined ? { model } : { model, alias }
  }

  /**
   * Id in the engine of the version that answers for a name, or for a name and an alias. Throws UNKNOWN_MODEL,
   * UNKNOWN_VERSION, MODEL_NOT_LOADED.
   */
  resolve(reference: string): ModelId {
    const { model, alias } = this.referred(reference)
    return model.loaded.get(model.versionFor(0, alias))!.id
  }

  /** Whether the version that a reference stands for is being loaded. */
  isComing(reference: string): boolean {
    const { name, alias } = parseReference(reference)
    return this.models.get(name)?.isComing(alias) ?? false
  }

  /** A pipeline names a version by its number, or does no more: such versions are loaded. */
  hold(reference: string, isNeeded: boolean): void {
    const { name, alias } = parseReference(reference)
    const version = alias === undefined ? undefined : versionOf(alias)
    if (version === undefined) return
    const versions = this.held.get(name) ?? new Map<number, number>()
    const count = (versions.get(version) ?? 0) + (isNeeded ? 1 : -1)
    if (count > 0) versions.set(version, count)
    else versions.delete(version)
    this.held.set(name, versions)
  }

  /** The versions of a model that pipelines name. */
  heldOf(name: string): ReadonlySet<number> {
    return new Set(this.held.get(name)?.keys())
  }
}
