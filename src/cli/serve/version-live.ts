import type { ModelVersionMarker } from '../../models/registry/version-marker.ts'
import { counted } from '../text/counted.ts'

/** The event of a version that went live, for `--json`. */
export function liveEvent(
  version: number,
  { users, items }: ModelVersionMarker,
  rows: number | undefined,
): Readonly<Record<string, string | number>> {
  return { event: 'live', version, users, items, ...(rows === undefined ? {} : { rows }) }
}

/**
 * The sentence about a version that went live; `size` describes what was published. It warns if slots
 * hold fewer rows than were published.
 */
export function liveText(
  version: number,
  marker: ModelVersionMarker,
  loaded: { readonly rows: number | undefined; readonly size: string },
): string {
  const published = marker.users + marker.items
  const { rows = published, size } = loaded
  const isLive = `version ${version} is live (${size})`
  if (rows >= published) return isLive
  return `${isLive}; warning: only ${rows} of its ${counted(published, 'row')} are loaded; the others were dropped, or are no longer in the topic`
}
