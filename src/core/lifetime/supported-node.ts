/** The oldest Node that runs Weir; `engines` of package.json says the same. */
const OLDEST = [22, 18] as const

/** What to say under a Node that is too old; undefined under the others. `version` as `process.versions.node`. */
export function unsupportedNode(version: string): string | undefined {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const isOld = major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1])
  if (!isOld) return undefined
  return `Weir needs Node ${OLDEST.join('.')} or newer, and this is Node ${version}`
}
