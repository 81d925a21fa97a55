import type { SessionWindows, TimeWindow } from './assigner.ts'
import { OpenSessions, type Session } from './open-sessions.ts'
import { WindowOperator, type WindowOptions } from './operator.ts'

/**
 * The operator of session windows. A record opens a window of one gap, and windows that overlap or touch become
 * one. The contents stay in the namespace of the first window, so that a longer session moves no data.
 */
export class SessionWindowOperator<K, IN> extends WindowOperator<K, IN> {
  private readonly gapMs: SessionWindows['gapMs']
  private sessions!: OpenSessions

  constructor(windows: SessionWindows, options: Omit<WindowOptions<K, IN>, 'timeDomain'>) {
    super({ ...options, timeDomain: windows.timeDomain })
    this.gapMs = windows.gapMs
  }

  processElement(_input: number, value: unknown, timestamp: number): void {
    const start = this.timeOf(timestamp)
    const window = { start, end: start + this.gapMs(value) }
    if (this.isLate(window.end) && this.sessions.touching(window).length === 0) {
      this.drop(value as IN, timestamp)
      return
    }
    const session = this.join(window)
    this.keyedState.setCurrentNamespace(this.sessions.storedAt(session))
    this.contents.add(value as IN)
    if (this.isPast(session.end)) this.fire({ start: session.start, end: session.end })
  }

  protected override mergesWindows(): boolean {
    return true
  }

  protected override openState(): void {
    this.sessions = new OpenSessions(this.keyedState, this.namespaces)
  }

  protected override selectContents(window: TimeWindow): void {
    const session = this.sessions.find(window.start)
    this.keyedState.setCurrentNamespace(
      session === undefined
        ? this.namespaces.of(window.start, window.end)
        : this.sessions.storedAt(session),
    )
  }

  protected override forget(window: TimeWindow): void {
    this.sessions.forget(window.start)
  }

  /** Joins the new window and the sessions that it touches into one, and moves timers and contents. */
  private join(window: TimeWindow): Session {
    const known = this.sessions.merge(window)
    const { session, merged } = known
    for (const each of merged) {
      this.keyedState.setCurrentNamespace(this.namespaces.of(each.start, each.end))
      this.deleteTimers(each.end)
    }
    if (merged.length > 1) {
      this.contents.merge(
        this.sessions.storedAt(session),
        merged.slice(1).map((each) => this.sessions.storedAt(each)),
      )
    }
    this.keyedState.setCurrentNamespace(this.namespaces.of(session.start, session.end))
    if (known.changed) this.registerTimers(session.end)
    return session
  }
}
