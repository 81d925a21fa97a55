import type { WeirError } from '../../../core/errors.ts'

/** An error in the JSON form that Flink's Java client reads. */
export interface SerializedThrowableJson {
  readonly class: string
  readonly 'stack-trace': string
  /** A `SerializedThrowable` in the format of Java's object serialization, base64. */
  readonly 'serialized-throwable': string
}

/**
 * An error as Flink's client expects the cause of a failed operation. The client does not read the texts:
 * it deserializes the Java object.
 */
export function serializedThrowable(error: WeirError): SerializedThrowableJson {
  const stack = error.stack ?? error.message
  return {
    class: error.code,
    'stack-trace': stack,
    'serialized-throwable': javaThrowable(error, stack).toString('base64'),
  }
}

// Java's object serialization, version 5: the bytes that begin each part.
const STREAM_HEADER = [0xac, 0xed, 0x00, 0x05]
const NULL = 0x70
const REFERENCE = 0x71
const CLASS = 0x72
const OBJECT = 0x73
const STRING = 0x74
const ARRAY = 0x75
const END_OF_BLOCK = 0x78
const LONG_STRING = 0x7c
/** Flags of a class: fields follow; and besides them what `writeObject` writes. */
const PLAIN_CLASS = 0x02
const CLASS_THAT_WRITES = 0x03

/** An exception with a message and no Java stack of its own. */
function javaThrowable({ code, message }: WeirError, stack: string): Buffer {
  return Buffer.concat([
    Buffer.from([...STREAM_HEADER, OBJECT]),
    THROWABLE_CLASSES,
    // Fields of Throwable: cause, detailMessage, stackTrace, suppressedExceptions.
    Buffer.from([NULL]),
    javaString(message),
    EMPTY_STACK_TRACE,
    EMPTY_LIST,
    Buffer.from([END_OF_BLOCK]),
    // Fields of SerializedThrowable: fullStringifiedStackTrace, originalErrorClassName, serializedException.
    javaString(`${stack}\n`),
    javaString(code),
    Buffer.from([NULL]),
  ])
}

/** A class: its name, serial version and fields; a superclass or NULL follows. */
function javaClass(
  name: string,
  version: string,
  flags: number,
  fields: readonly Buffer[],
): Buffer {
  return Buffer.concat([
    Buffer.from([CLASS]),
    shortText(name),
    Buffer.from(version, 'hex'),
    Buffer.from([flags, 0, fields.length]),
    ...fields,
    Buffer.from([END_OF_BLOCK]),
  ])
}

/** A field that holds an object (`L`) or an array (`[`), with the name of its type. */
function javaField(kind: 'L' | '[', name: string, type: Buffer): Buffer {
  return Buffer.concat([Buffer.from(kind), shortText(name), type])
}

/** The type `String` of the first field is handle 1; later fields refer to it. */
const STRING_TYPE = javaString('Ljava/lang/String;')
const STRING_TYPE_AGAIN = Buffer.from([REFERENCE, 0x00, 0x7e, 0x00, 0x01])

const THROWABLE_CLASSES = Buffer.concat([
  javaClass('org.apache.flink.util.SerializedThrowable', '65169df51fa713f3', PLAIN_CLASS, [
    javaField('L', 'fullStringifiedStackTrace', STRING_TYPE),
    javaField('L', 'originalErrorClassName', STRING_TYPE_AGAIN),
    javaField('[', 'serializedException', javaString('[B')),
  ]),
  javaClass('java.lang.Exception', 'd0fd1f3e1a3b1cc4', PLAIN_CLASS, []),
  javaClass('java.lang.Throwable', 'd5c635273977b8cb', CLASS_THAT_WRITES, [
    javaField('L', 'cause', javaString('Ljava/lang/Throwable;')),
    javaField('L', 'detailMessage', STRING_TYPE_AGAIN),
    javaField('[', 'stackTrace', javaString('[Ljava/lang/StackTraceElement;')),
    javaField('L', 'suppressedExceptions', javaString('Ljava/util/List;')),
  ]),
  Buffer.from([NULL]),
])

const EMPTY_STACK_TRACE = Buffer.concat([
  Buffer.from([ARRAY]),
  javaClass('[Ljava.lang.StackTraceElement;', '02462a3c3cfd2239', PLAIN_CLASS, []),
  Buffer.from([NULL, 0, 0, 0, 0]),
])

const EMPTY_LIST = Buffer.concat([
  Buffer.from([OBJECT]),
  javaClass('java.util.Collections$EmptyList', '7ab817b43ca79ede', PLAIN_CLASS, []),
  Buffer.from([NULL]),
])

function shortText(text: string): Buffer {
  const bytes = modifiedUtf8(text)
  return Buffer.concat([Buffer.from([bytes.length >> 8, bytes.length & 0xff]), bytes])
}

function javaString(text: string): Buffer {
  const bytes = modifiedUtf8(text)
  if (bytes.length <= 0xffff) return Buffer.concat([Buffer.from([STRING]), shortText(text)])
  const length = Buffer.alloc(8)
  length.writeBigUInt64BE(BigInt(bytes.length))
  return Buffer.concat([Buffer.from([LONG_STRING]), length, bytes])
}

/** Java's UTF-8: each UTF-16 unit by itself, and no zero byte. */
function modifiedUtf8(text: string): Buffer {
  const bytes: number[] = []
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit >= 0x01 && unit <= 0x7f) bytes.push(unit)
    else if (unit <= 0x7ff) bytes.push(0xc0 | (unit >> 6), 0x80 | (unit & 0x3f))
    else bytes.push(0xe0 | (unit >> 12), 0x80 | ((unit >> 6) & 0x3f), 0x80 | (unit & 0x3f))
  }
  return Buffer.from(bytes)
}
