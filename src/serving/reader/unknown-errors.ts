import { type ErrorCode, WeirError } from '../../core/errors.ts'
import { nearestWord } from '../../core/text/nearest-word.ts'
import type { ProgressBoard } from '../../state/catalog/progress-board.ts'
import type { StateCatalog } from '../../state/catalog/state-catalog.ts'
import type { QueryOptions } from '../../wire/model-reader.ts'

/** What a thread knows of a job. */
interface KnownJob {
  readonly catalog: StateCatalog
  readonly board: ProgressBoard
}

/** A version of a state. */
interface LiveVersion {
  readonly state: { readonly name: string }
  readonly version: number
}

/** Errors of requests for states and versions that a thread does not know, or not yet. */
export class UnknownErrors {
  private readonly context: KnownJob

  constructor(context: KnownJob) {
    this.context = context
  }

  /**
   * RESTORING for the live version: it was loaded before it went live, and a restarted job reads again
   * what came after its checkpoint. UNKNOWN_VERSION for one that the request names.
   */
  notLoaded(
    name: string,
    version: number,
    { version: named }: Pick<QueryOptions, 'version'>,
  ): WeirError {
    if (named === undefined) return this.readAgain({ state: { name }, version })
    return this.unknown('UNKNOWN_VERSION', `version ${version} of "${name}" is not loaded`)
  }

  /** RESTORING for a live version that lacks rows. */
  readAgain({ state, version }: LiveVersion): WeirError {
    const what = `version ${version} of "${state.name}"`
    const message = `${what} is live, and its rows are being read again; ask again later`
    return new WeirError('RESTORING', message)
  }

  /** RESTORING for a slot whose rows may be missing. */
  restoringSlot(slot: number): WeirError {
    const message = `slot ${slot} is still starting or restoring; ask again later`
    return new WeirError('RESTORING', message)
  }

  /**
   * An error of this code; RESTORING while a slot starts or restores or has just opened a table, because the
   * name may still appear.
   */
  unknown(code: ErrorCode, message: string): WeirError {
    if (!this.isRestoring()) return new WeirError(code, message)
    return new WeirError('RESTORING', `${message}: ${this.reason()}; ask again later`)
  }

  private reason(): string {
    const { board } = this.context
    const statuses = Array.from({ length: board.share.slots }, (_, slot) => board.slotStatus(slot))
    if (statuses.includes('restoring')) return 'the job is still restoring'
    const isRunning = statuses.every((status) => status === 'running')
    return isRunning ? 'a slot is just opening its tables' : 'the job is still starting'
  }

  /** UNKNOWN_STATE with the names that exist, or RESTORING. `what`: the kind of state that was asked for. */
  unknownState(what: string, name: string): WeirError {
    const names = this.context.catalog.names()
    const nearest = nearestWord(name, names)
    const list = names.length === 0 ? 'the job has none' : `known states: ${names.join(', ')}`
    const hint = nearest === undefined || nearest === name ? '' : `; did you mean "${nearest}"?`
    return this.unknown('UNKNOWN_STATE', `no queryable ${what} is named "${name}" (${list})${hint}`)
  }

  /**
   * Whether some slot starts, restores, or was lost and will restore. A slot that runs counts until this
   * thread knows every table that it has opened: the announcement of a new one may be on the way.
   */
  isRestoring(): boolean {
    const { board } = this.context
    for (let slot = 0; slot < board.share.slots; slot++) {
      if (board.slotStatus(slot) !== 'running') return true
      if (!this.context.catalog.knowsTables(slot, board)) return true
    }
    return false
  }
}
