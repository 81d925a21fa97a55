import { KEY_SUFFIXES } from '../../models/als/row-key.ts'
import { ITEM_TAGS, TAG_FLOATS, TAG_SUFFIX } from '../../models/item-tags.ts'
import { type VectorStateDescriptor, vectorState } from '../../state/port/descriptors.ts'
import { DEFAULT_MAX_KEY_BYTES } from '../../state/port/key-length.ts'

/** The tags of items, keys `<id>-I` of at most `maxKeyBytes`. They stay in memory: a scan reads them. */
export function itemTagRows(maxKeyBytes: number = DEFAULT_MAX_KEY_BYTES): VectorStateDescriptor {
  return tagState('item-tags', KEY_SUFFIXES.I, { dimension: TAG_FLOATS, maxKeyBytes })
}

/** The bits of tags, keys `<tag>-T`. */
export function tagNameRows(): VectorStateDescriptor {
  const maxKeyBytes = MAX_TAG_BYTES + TAG_SUFFIX.length
  return tagState('tag-bits', TAG_SUFFIX, { dimension: 1, maxKeyBytes })
}

/** Uid of the operator that reads tags. */
export const TAG_LINES_UID = 'tag-lines'
/** Longest tag in bytes. */
export const MAX_TAG_BYTES = 64

function tagState(
  name: string,
  keySuffix: string,
  lengths: Pick<VectorStateDescriptor, 'dimension' | 'maxKeyBytes'>,
): VectorStateDescriptor {
  return vectorState(name, {
    ...lengths,
    queryableName: ITEM_TAGS,
    keySuffix,
    isResident: true,
    isReadAhead: false,
  })
}
