/**
 * Files in a ZIP archive, stored as they are: for importers that take nothing else. The format is that of PKWARE's
 * APPNOTE 6.3.10, without compression, encryption and ZIP64: some hundred kilobytes of text are all that goes in here.
 */
import { crc32 } from 'node:zlib'

interface Entry {
  readonly name: Buffer
  readonly content: Buffer
  readonly offset: number
}

/** 1 January 1980, the first day that the format knows: the same files give the same archive. */
const day = 0x21

/** What the header of a file and its entry in the directory have in common. */
function described({ name, content }: Pick<Entry, 'name' | 'content'>): Buffer {
  const fields = Buffer.alloc(26)
  fields.writeUInt16LE(20, 0)
  // Names are UTF-8.
  fields.writeUInt16LE(0x800, 2)
  fields.writeUInt16LE(day, 8)
  fields.writeUInt32LE(crc32(content), 10)
  fields.writeUInt32LE(content.length, 14)
  fields.writeUInt32LE(content.length, 18)
  fields.writeUInt16LE(name.length, 22)
  return fields
}

function listed(entry: Entry): Buffer {
  const made = Buffer.from([0x50, 0x4b, 1, 2, 20, 0])
  const rest = Buffer.alloc(14)
  rest.writeUInt32LE(entry.offset, 10)
  return Buffer.concat([made, described(entry), rest, entry.name])
}

function end(count: number, directory: Buffer, offset: number): Buffer {
  const last = Buffer.alloc(22)
  last.write('PK\u0005\u0006', 'latin1')
  last.writeUInt16LE(count, 8)
  last.writeUInt16LE(count, 10)
  last.writeUInt32LE(directory.length, 12)
  last.writeUInt32LE(offset, 16)
  return last
}

/** `files`: contents by name, with slashes between folders. */
export function zip(files: Readonly<Record<string, string>>): Buffer {
  const parts: Buffer[] = []
  const entries: Entry[] = []
  let offset = 0
  for (const [path, text] of Object.entries(files)) {
    const entry = { name: Buffer.from(path), content: Buffer.from(text), offset }
    const part = Buffer.concat([
      Buffer.from('PK\u0003\u0004', 'latin1'),
      described(entry),
      entry.name,
      entry.content,
    ])
    entries.push(entry)
    parts.push(part)
    offset += part.length
  }
  const directory = Buffer.concat(entries.map(listed))
  return Buffer.concat([...parts, directory, end(entries.length, directory, offset)])
}
