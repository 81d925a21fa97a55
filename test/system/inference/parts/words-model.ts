/**
 * A module that answers in parts: `text_input` as often as `count` says. Some words do more: `bad` is refused before the
 * first part, `breaks` fails before the third, `waits` gives its second part when it is given up, `blocks` holds up its
 * thread before the second one. `log` is a file that gets a line when a stream ends.
 */
export const wordsModule = (log: string): string => `
import { appendFileSync } from 'node:fs'
const spec = (name, datatype) => ({ name, datatype, shape: [1], itemAxis: null })
export default {
  signature: {
    inputs: [spec('text_input', 'BYTES'), spec('count', 'INT32')],
    outputs: [spec('text_output', 'BYTES'), spec('index', 'INT32')],
  },
  async *stream([text, count], signal) {
    const word = new TextDecoder().decode(text.data.subarray(4))
    const most = new DataView(count.data.buffer, count.data.byteOffset).getInt32(0, true)
    if (word === 'bad') throw new Error('this word is refused')
    let made = 0
    try {
      for (; made < most; made++) {
        if (word === 'breaks' && made === 2) throw new Error('it broke here')
        if (word === 'blocks' && made === 1) for (;;);
        if (word === 'waits' && made === 1) await new Promise((resolve) => signal.addEventListener('abort', resolve))
        yield [
          { ...text, name: 'text_output' },
          { name: 'index', datatype: 'INT32', shape: [1], data: new Uint8Array(Int32Array.of(made).buffer) },
        ]
      }
    } finally {
      appendFileSync(${JSON.stringify(log)}, word + ' ended\\n')
    }
  },
}
`
