import { valueState } from '../../state/port/descriptors.ts'
import type { ValueState } from '../../state/port/handles.ts'
import type { SessionWindows, TimeWindow } from './assigner.ts'
import { NO_NAMESPACE } from './namespace.ts'
import { WindowOperator, type WindowOptions } from './operator.ts'

/** An open session of a key and the window under which its contents were first stored. */
interface Session extends TimeWindow {
  readonly storedStart: number
  readonly storedEnd: number
}

/** Sessions in their stored form: four numbers each. */
type PackedSessions = readonly number[]

/**
 * The operator of session windows. A record opens a window of one gap, and windows that overlap or touch become
 * one. The contents stay in the namespace of the first window, so that a longer session moves no data.
 */
export class SessionWindowOperator<K, IN> extends WindowOperator<K, IN> {
  private readonly gapMs: SessionWindows['gapMs']
  private sessions!: ValueState<PackedSessions>

  constructor(windows: SessionWindows, options: Omit<WindowOptions<K, IN>, 'timeDomain'>) {
    super({ ...options, timeDomain: windows.timeDomain })
    this.gapMs = windows.gapMs
  }

  processElement(_input: number, value: unknown, timestamp: number): void {
    const start = this.timeOf(timestamp)
    const end = start + this.gapMs(value)
    const open = this.load()
    const touched = open.filter((session) => session.start <= end && session.end >= start)
    if (touched.length === 0 && this.isLate(end)) {
      this.drop(value as IN, timestamp)
      return
    }
    const session = this.join(open, touched, start, end)
    this.keyedState.setCurrentNamespace(this.storedAt(session))
    this.contents.add(value as IN)
    if (this.isPast(session.end)) this.fire({ start: session.start, end: session.end })
  }

  protected override openState(): void {
    this.sessions = this.keyedState.value(valueState<PackedSessions>('sessions'))
  }

  protected override selectContents(window: TimeWindow): void {
    const session = this.load().find((each) => each.start === window.start)
    this.keyedState.setCurrentNamespace(
      session === undefined ? this.namespaces.of(window.start, window.end) : this.storedAt(session),
    )
  }

  protected override forget(window: TimeWindow): void {
    this.save(this.load().filter((session) => session.start !== window.start))
  }

  /** Joins the new window and the sessions that it touches into one, and moves timers and contents. */
  private join(
    open: readonly Session[],
    touched: readonly Session[],
    start: number,
    end: number,
  ): Session {
    const [first, ...others] = touched
    const joined: Session = {
      start: Math.min(start, ...touched.map((session) => session.start)),
      end: Math.max(end, ...touched.map((session) => session.end)),
      storedStart: first?.storedStart ?? start,
      storedEnd: first?.storedEnd ?? end,
    }
    if (first?.start === joined.start && first.end === joined.end) return first
    for (const session of touched) {
      this.keyedState.setCurrentNamespace(this.namespaces.of(session.start, session.end))
      this.deleteTimers(session.end)
    }
    if (others.length > 0) {
      this.contents.merge(
        this.storedAt(joined),
        others.map((session) => this.storedAt(session)),
      )
    }
    this.save([...open.filter((session) => !touched.includes(session)), joined])
    this.keyedState.setCurrentNamespace(this.namespaces.of(joined.start, joined.end))
    this.registerTimers(joined.end)
    return joined
  }

  private storedAt(session: Session): Uint8Array {
    return this.namespaces.of(session.storedStart, session.storedEnd)
  }

  private load(): Session[] {
    this.keyedState.setCurrentNamespace(NO_NAMESPACE)
    const packed = this.sessions.value() ?? []
    const sessions: Session[] = []
    for (let i = 0; i < packed.length; i += 4) {
      const [start, end, storedStart, storedEnd] = packed.slice(i, i + 4) as number[]
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
