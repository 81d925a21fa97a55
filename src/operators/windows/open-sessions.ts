import { valueState } from '../../state/port/descriptors.ts'
import type { LiveValueState } from '../../state/port/handles.ts'
import type { KeyedState } from '../../state/port/keyed-state.ts'
import type { TimeWindow } from './assigner.ts'
import { NO_NAMESPACE, type WindowNamespaces } from './namespace.ts'

/** An open session of a key and the window under which its contents were first stored. */
export interface Session extends TimeWindow {
  readonly storedStart: number
  readonly storedEnd: number
}

/** Sessions in their stored form: four numbers each. */
type PackedSessions = number[]

/** What a new window does to the sessions of a key. */
export interface SessionMerge {
  /** The session of which the new window is a part. */
  readonly session: Session
  /** The sessions that are no more, because they are a part of `session` now. */
  readonly merged: readonly Session[]
  /** Whether the session is not one that was there before. */
  readonly changed: boolean
}

/** The open sessions of the current key. */
export class OpenSessions {
  private readonly keyedState: KeyedState
  private readonly namespaces: WindowNamespaces
  private readonly sessions: LiveValueState<PackedSessions>

  constructor(keyedState: KeyedState, namespaces: WindowNamespaces) {
    this.keyedState = keyedState
    this.namespaces = namespaces
    this.sessions = keyedState.liveValue(valueState<PackedSessions>('sessions'))
  }

  /** The session that starts there. */
  find(start: number): Session | undefined {
    return this.load().find((session) => session.start === start)
  }

  /**
   * The session whose contents have this namespace. Timers of older checkpoints have the session itself instead.
   */
  storedAs({ start, end }: TimeWindow): Session | undefined {
    return this.load().find(
      (session) =>
        (session.storedStart === start && session.storedEnd === end) ||
        (session.start === start && session.end === end),
    )
  }

  /** The sessions that a window overlaps or touches. */
  touching({ start, end }: TimeWindow): readonly Session[] {
    return this.load().filter((session) => session.start <= end && session.end >= start)
  }

  /** Makes one session of a window and those that it touches, and stores it. */
  merge(window: TimeWindow): SessionMerge {
    return this.extend(window) ?? this.mergeInto(this.load(), window)
  }

  /** As `merge` in place, where the key has one session and the window touches it. */
  private extend(window: TimeWindow): SessionMerge | undefined {
    this.keyedState.setCurrentNamespace(NO_NAMESPACE)
    const packed = this.sessions.valueToChange()
    if (packed?.length !== 4) return undefined
    const [start, end, storedStart, storedEnd] = packed as [number, number, number, number]
    if (start > window.end || end < window.start) return undefined
    const before: Session = { start, end, storedStart, storedEnd }
    if (start <= window.start && end >= window.end) {
      return { session: before, merged: [], changed: false }
    }
    packed[0] = Math.min(start, window.start)
    packed[1] = Math.max(end, window.end)
    this.sessions.update(packed)
    const session: Session = { start: packed[0], end: packed[1], storedStart, storedEnd }
    return { session, merged: [before], changed: true }
  }

  private mergeInto(open: readonly Session[], window: TimeWindow): SessionMerge {
    const touched = open.filter(({ start, end }) => start <= window.end && end >= window.start)
    const [first] = touched
    const start = Math.min(window.start, ...touched.map((session) => session.start))
    const end = Math.max(window.end, ...touched.map((session) => session.end))
    if (first?.start === start && first.end === end) {
      return { session: first, merged: [], changed: false }
    }
    const storedStart = first?.storedStart ?? start
    const session: Session = { start, end, storedStart, storedEnd: first?.storedEnd ?? end }
    this.save([...open.filter((each) => !touched.includes(each)), session])
    return { session, merged: touched, changed: true }
  }

  /** Forgets the session that starts there. */
  forget(start: number): void {
    this.save(this.load().filter((session) => session.start !== start))
  }

  /** Selects the namespace of a session's contents. */
  selectContents({ storedStart, storedEnd }: Session): void {
    this.keyedState.setCurrentNamespace(this.namespaces.shortLived(storedStart, storedEnd))
  }

  /** The namespace of a session's contents. */
  storedAt(session: Session): Uint8Array {
    return this.namespaces.of(session.storedStart, session.storedEnd)
  }

  private load(): Session[] {
    this.keyedState.setCurrentNamespace(NO_NAMESPACE)
    const packed = this.sessions.value() ?? []
    const sessions: Session[] = []
    for (let i = 0; i < packed.length; i += 4) {
      const [start, end, storedStart, storedEnd] = packed.slice(i, i + 4)
      sessions.push({
        start: start!,
        end: end!,
        storedStart: storedStart!,
        storedEnd: storedEnd!,
      })
    }
    return sessions
  }

  private save(sessions: readonly Session[]): void {
    this.keyedState.setCurrentNamespace(NO_NAMESPACE)
    if (sessions.length === 0) this.sessions.clear()
    else {
      this.sessions.update(
        sessions.flatMap((each) => [each.start, each.end, each.storedStart, each.storedEnd]),
      )
    }
  }
}
