const UNITS = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB']

/** A number of bytes for people, such as `1.2 MiB`. */
export function bytesText(bytes: number): string {
  const unit = Math.min(Math.floor(Math.log2(Math.max(1, bytes)) / 10), UNITS.length - 1)
  return unit === 0 ? `${bytes} bytes` : `${(bytes / 1024 ** unit).toFixed(1)} ${UNITS[unit]}`
}
