import { openTopics } from '../../connectors/topics/open.ts'
import type { ModelVersionMarker } from '../../models/registry/version-marker.ts'
import { readyVersions } from '../../models/versions/model-versions.ts'
import type { ServeModelOptions } from './model.ts'
import { registryOfJob } from './registry-place.ts'

/** The marker of the version that a job will serve: the live one, else the newest; undefined where there is none. */
export async function servedMarker({
  topic,
  data,
  place = { logDirectory: data.log },
}: Pick<ServeModelOptions, 'topic' | 'data' | 'place'>): Promise<ModelVersionMarker | undefined> {
  await using topics = await openTopics(place)
  if (!(await topics.has(topic))) return undefined
  const markers = await readyVersions(topics, topic)
  const state = await registryOfJob({ data, place }).withVersions(topic, markers)
  const live = state.models.get(topic)?.live ?? 0
  return markers.find(({ version }) => version === live) ?? markers.at(-1)
}
