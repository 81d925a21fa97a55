import type { UnfinishedView } from '../../models/registry/unfinished.ts'
import type { RegisteredVersion } from '../../models/registry/version.ts'

/** The versions of one model, and their switches. Methods throw WeirError. */
export interface ModelControl {
  /** Name of the model in the registry. */
  readonly model: string
  /** All versions, newest first. */
  versions(): Promise<ModelVersions>
  /**
   * Makes a version live: a number, an id, `live` or `latest`. Throws UNKNOWN_VERSION, PROMOTION_REFUSED,
   * REGISTRY_CONFLICT.
   */
  promote(version: string, options: PromoteOptions): Promise<ModelSwitch>
  /** Makes the previous live version live again. Throws ILLEGAL_STATE if there is none, REGISTRY_CONFLICT. */
  rollBack(options: RollBackOptions): Promise<ModelSwitch>
}

/** A model and its versions. */
export interface ModelVersions {
  readonly model: string
  /** Live version, 0 for none. */
  readonly live: number
  /** Version that a rollback makes live, 0 for none. */
  readonly rollback: number
  /** Grows with every switch. */
  readonly revision: number
  readonly versions: readonly Omit<RegisteredVersion, 'golden'>[]
  /** Versions of the topic that are not whole, newest first. */
  readonly unfinished: readonly UnfinishedView[]
}

/** Options of a promotion. */
export interface PromoteOptions {
  /** Version that the caller expects to be live. @default the one that is live */
  readonly expectLive?: number
  /** Reason for ignoring the checks. */
  readonly force?: string
}

/** Options of a rollback. */
export interface RollBackOptions {
  readonly expectLive?: number
  /** @default 'by hand' */
  readonly reason?: string
}

/** A switch of the live version. */
export interface ModelSwitch {
  readonly model: string
  readonly live: number
  /** Version that was live, 0 for none. */
  readonly before: number
  readonly how: 'promoted' | 'forced' | 'rolled back'
}
