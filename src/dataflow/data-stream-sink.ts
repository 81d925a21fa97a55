import type { NodeDraft } from './graph-draft.ts'
import { NodeSettingsBase } from './node-settings.ts'

/** The end of a branch; only its settings can still be changed. */
export class DataStreamSink extends NodeSettingsBase {
  constructor(node: NodeDraft) {
    super([{ node, tag: undefined, partitioning: undefined }])
  }
}
