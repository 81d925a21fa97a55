import { requireArgument } from './errors.ts'

/** Ports from `first` to `last`, both included. */
export interface PortRange {
  readonly first: number
  readonly last: number
}

/** A port or a range of ports as Flink writes it: `9070` or `9070-9079`. Throws INVALID_ARGUMENT. */
export function parsePortRange(text: string): PortRange {
  const match = /^\s*(\d{1,5})\s*(?:-\s*(\d{1,5})\s*)?$/.exec(text)
  const first = Number(match?.[1])
  const last = Number(match?.[2] ?? match?.[1])
  requireArgument(
    match !== null && first >= 1 && first <= last && last <= 65_535,
    `"${text}" names no ports; write one or a range such as "9070" or "9070-9079"`,
  )
  return { first, last }
}

/**
 * The ports of a range that one of several threads may take; no two threads may take the same one.
 * Throws INVALID_ARGUMENT when the range has fewer ports than there are threads.
 */
export function portsOfThread(
  { first, last }: PortRange,
  thread: number,
  threads: number,
): readonly number[] {
  const ports = last - first + 1
  requireArgument(
    ports >= threads,
    `${threads} query threads need as many ports; ${first}-${last} has ${ports}`,
  )
  const count = Math.ceil((ports - thread) / threads)
  return Array.from({ length: count }, (_, i) => first + thread + i * threads)
}
