import { MAX_TIMESTAMP } from '../../core/time.ts'
import { FoldedPart } from '../port/folded-part.ts'
import type { SessionWindows, TimeWindow, WindowAssigner } from './assigner.ts'
import { OpenSessions, type Session } from './open-sessions.ts'
import { WindowOperator, type WindowOptions } from './operator.ts'

/**
 * The operator of session windows. A record opens a window of one gap, and a part of records that their sender has
 * folded opens one of its span. Windows that overlap or touch become one. The contents stay in the namespace of the
 * first window, so that a longer session moves no data.
 */
export class SessionWindowOperator<K, IN> extends WindowOperator<K, IN> {
  private readonly gapMs: SessionWindows['gapMs']
  private sessions!: OpenSessions

  constructor(windows: SessionWindows, options: Omit<WindowOptions<K, IN>, 'timeDomain'>) {
    super({ ...options, timeDomain: windows.timeDomain })
    this.gapMs = windows.gapMs
  }

  processElement(_input: number, value: unknown, timestamp: number): void {
    this.countPart(value)
    const start = this.timeOf(value as IN, timestamp)
    if (start === undefined) return
    const spanMs = value instanceof FoldedPart ? value.spanMs : this.gapMs(value)
    const window = { start, end: Math.min(start + spanMs, MAX_TIMESTAMP) }
    if (this.isLate(window.end) && this.sessions.touching(window).length === 0) {
      this.drop(value as IN, timestamp)
      return
    }
    const session = this.join(window)
    this.sessions.selectContents(session)
    this.contents.add(value as IN)
    if (this.isPast(session.end)) this.fire({ start: session.start, end: session.end })
  }

  protected windowKind(): WindowAssigner['kind'] {
    return 'session'
  }

  protected override mergesWindows(): boolean {
    return true
  }

  protected override openState(): void {
    this.sessions = new OpenSessions(this.keyedState, this.namespaces)
  }

  protected override selectContents(window: TimeWindow): void {
    const session = this.sessions.find(window.start)
    if (session !== undefined) this.sessions.selectContents(session)
    else this.keyedState.setCurrentNamespace(this.namespaces.of(window.start, window.end))
  }

  protected override forget(window: TimeWindow): void {
    this.sessions.forget(window.start)
  }

  /**
   * Handles the timer of a session. A session that has become longer since keeps its timer, which then only sets
   * the next one: so a record that makes a session longer costs no timer.
   */
  protected override onWindowTimer(stored: TimeWindow, timestamp: number): void {
    const session = this.sessions.storedAs(stored)
    if (session === undefined) return
    const { start, end } = session
    if (timestamp < end - 1) {
      this.registerAt(session, end - 1)
      return
    }
    super.onWindowTimer({ start, end }, timestamp)
    if (timestamp < this.clearTimeOf(end)) this.registerAt(session, this.clearTimeOf(end))
  }

  /** Joins the new window and the sessions that it touches into one, and moves contents. */
  private join(window: TimeWindow): Session {
    const { session, merged, changed } = this.sessions.merge(window)
    if (merged.length > 1) {
      this.contents.merge(
        this.sessions.storedAt(session),
        merged.slice(1).map((each) => this.sessions.storedAt(each)),
      )
    }
    const [first] = merged
    const isNew = changed && (first === undefined || this.isPast(first.end))
    if (isNew || this.mayLackTimers((first ?? session).end)) this.registerNext(session)
    return session
  }

  /** Sets the timer of a session that has none before its end. */
  private registerNext(session: Session): void {
    const { end } = session
    this.registerAt(session, this.isPast(end) ? this.clearTimeOf(end) : end - 1)
  }

  /** Sets a timer in the namespace of the session's contents, which stays the same when the session grows. */
  private registerAt(session: Session, timestamp: number): void {
    this.sessions.selectContents(session)
    if (this.options.timeDomain === 'processing-time') {
      this.timers.registerProcessingTimeTimer(timestamp)
    } else this.timers.registerEventTimeTimer(timestamp)
  }
}
