import { LATEST_MS } from '../../models/registry/ranges/trained-on.ts'
import type { ModelVersionMarker } from '../../models/registry/version-marker.ts'

/** What a version says of its training data, for a learner that cannot tell which observations it was trained on. */
export function originText({
  trainedOn,
  metrics,
}: Pick<ModelVersionMarker, 'trainedOn' | 'metrics'>): string {
  if (trainedOn === undefined || trainedOn.files.length === 0) {
    return 'it does not say which observations it was trained on'
  }
  const { files, newestEventMs } = trainedOn
  const count = metrics['observations']
  const observations =
    count === undefined ? '' : `${count.toLocaleString('en-US')} observations of `
  // Without a digest nothing says it.
  const which = files.every(({ read }) => read !== undefined)
    ? ''
    : ', and does not say which of them are in the topic'
  const isKnown = newestEventMs >= 0 && newestEventMs <= LATEST_MS
  const newest = !isKnown ? '' : `, the newest of ${new Date(newestEventMs).toISOString()}`
  const names = files.map(({ file }) => file).join(' and ')
  return `it was trained on ${observations}${names}${newest}${which}`
}
