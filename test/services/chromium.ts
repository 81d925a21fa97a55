/** Path of the browser: Debian's package, or the one that CHROMIUM names. */
export const CHROMIUM = process.env['CHROMIUM'] ?? '/usr/bin/chromium'
