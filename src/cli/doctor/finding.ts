/** What a check of `weir doctor` found. */
export interface Finding {
  /** What was checked: `node`, `fsync`, `port 9069`. */
  readonly check: string
  /** `warning`: Weir works, but worse or not for everything; `problem`: it does not work like this. */
  readonly verdict: 'ok' | 'warning' | 'problem'
  /** The observed fact. */
  readonly found: string
  /** What to do; only of warnings and problems. */
  readonly advice?: string
}

/** A finding that needs no advice. */
export function ok(check: string, found: string): Finding {
  return { check, verdict: 'ok', found }
}

/** A finding that lets Weir work, but not as well as it could. */
export function warning(check: string, found: string, advice: string): Finding {
  return { check, verdict: 'warning', found, advice }
}

/** A finding that stops Weir. */
export function problem(check: string, found: string, advice: string): Finding {
  return { check, verdict: 'problem', found, advice }
}
