/** `1,234` or, from ten thousand on, `12.3k`, `4.56M`, `7.89G`. */
export function numberText(value: number): string {
  if (!Number.isFinite(value)) return '–'
  const size = Math.abs(value)
  if (size < 10_000)
    return value.toLocaleString('en-US', { maximumFractionDigits: digitsFor(size) })
  for (const [unit, factor] of [
    ['G', 1e9],
    ['M', 1e6],
  ] as const) {
    if (size >= factor) return `${(value / factor).toPrecision(3)}${unit}`
  }
  return `${(value / 1000).toFixed(1)}k`
}

function digitsFor(size: number): number {
  if (size === 0 || Number.isInteger(size)) return 0
  if (size >= 100) return 0
  return size >= 1 ? 2 : 4
}

/** `0 B`, `1.5 KiB`, `20 MiB` */
export function bytesText(bytes: number): string {
  if (!Number.isFinite(bytes)) return '–'
  let value = bytes
  for (const unit of ['B', 'KiB', 'MiB', 'GiB']) {
    if (Math.abs(value) < 1024) return `${roundText(value)} ${unit}`
    value /= 1024
  }
  return `${roundText(value)} TiB`
}

function roundText(value: number): string {
  return value >= 10 || Number.isInteger(value) ? value.toFixed(0) : value.toFixed(1)
}

/** `35 ms`, `4.2 s`, `3 min 20 s`, `5 h 7 min`, `2 d 3 h`; `–` for a negative time. */
export function durationText(ms: number): string {
  if (!Number.isFinite(ms) || ms < 0) return '–'
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 10_000) return `${(ms / 1000).toFixed(1)} s`
  const seconds = Math.floor(ms / 1000)
  if (seconds < 60) return `${seconds} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`
  const hours = Math.floor(minutes / 60)
  if (hours < 24) return `${hours} h ${minutes % 60} min`
  return `${Math.floor(hours / 24)} d ${hours % 24} h`
}

/** `42 %` of a share between 0 and 1. */
export function percentText(share: number): string {
  return Number.isFinite(share) ? `${Math.round(share * 100)} %` : '–'
}

/** `2026-11-22 15:04:05` in the time zone of the browser; `–` for a time that has not come. */
export function timeText(ms: number): string {
  if (!Number.isFinite(ms) || ms <= 0) return '–'
  const date = new Date(ms)
  const two = (value: number): string => String(value).padStart(2, '0')
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`
}

/** Milliseconds since 1970 of the last time that a calendar has. */
const LAST_TIME = 8.64e15

/** Watermark of a subtask as a time; `none yet` before the first, `end of the input` after the last record. */
export function watermarkText(value: number): string {
  if (value >= LAST_TIME) return 'end of the input'
  return value <= Number.MIN_SAFE_INTEGER ? 'none yet' : timeText(value)
}
