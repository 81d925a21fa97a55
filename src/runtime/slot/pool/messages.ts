import type { JobModule } from '../../../dataflow/job/module.ts'
import type { SlotCommand, SlotReport } from '../../protocol/slot-messages.ts'

/*
 * Messages between the main thread and a thread that many slots share. Each slot has an agent in the thread; its number
 * is unique in the pool and never used again, so that a late message finds no successor.
 */

/** Data that a shared slot thread starts with. */
export interface SharedThreadData {
  /** URL of the module of most jobs, which the thread loads at once. */
  readonly url: string
  /** Bytes of keyed state that all agents of the thread hold in memory. */
  readonly stateMemoryBytes: number
}

/** Main thread to a shared slot thread. */
export type SharedThreadCommand =
  /** A slot begins: its agent waits for commands. */
  | { readonly kind: 'add'; readonly agent: number; readonly job: JobModule }
  | { readonly kind: 'command'; readonly agent: number; readonly command: SlotCommand }
  /** The slot is over: its agent closes what it holds. */
  | { readonly kind: 'remove'; readonly agent: number }
  /** The thread answers `answer`. */
  | { readonly kind: 'ask' }

/** A shared slot thread to the main thread. */
export type SharedThreadReport =
  | { readonly kind: 'report'; readonly agent: number; readonly report: SlotReport }
  /** The agent holds nothing more. */
  | { readonly kind: 'removed'; readonly agent: number }
  /** The event loop of the thread turns. */
  | { readonly kind: 'answer' }
