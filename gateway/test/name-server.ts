import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { isIPv4 } from 'node:net'

/** A name server of the test's own: every name has the addresses that the test sets. */
export type NameServer = AsyncDisposable & {
  /** As `address:port`. */
  address: string
  addresses: string[]
  /** Questions are taken and not answered. */
  silent: boolean
  questions: number
}

const types = { A: 1, AAAA: 28 }

/** Starts it on a free port of 127.0.0.1. RFC 1035, 4.1. */
export async function startNameServer(...addresses: string[]): Promise<NameServer> {
  const socket = createSocket('udp4')
  const server: NameServer = {
    address: '',
    addresses,
    silent: false,
    questions: 0,
    [Symbol.asyncDispose]: async () => {
      socket.close()
      await once(socket, 'close')
    },
  }
  socket.on('message', (question, { port, address }) => {
    server.questions += 1
    if (!server.silent) socket.send(answer(question, server.addresses), port, address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  server.address = `127.0.0.1:${socket.address().port}`
  return server
}

function answer(question: Buffer, addresses: readonly string[]): Buffer {
  // The question: labels up to an empty one, then type and class.
  const end = question.indexOf(0, 12) + 5
  const type = question.readUInt16BE(end - 4)
  const records = type === types.A ? addresses.filter(isIPv4).map(addressRecord) : []
  const header = Buffer.from(question.subarray(0, 12))
  header.writeUInt16BE(0x8180, 2)
  header.writeUInt16BE(records.length, 6)
  header.writeUInt32BE(0, 8)
  return Buffer.concat([header, question.subarray(12, end), ...records])
}

/** Refers to the name of the question, and may be kept for no time. */
function addressRecord(address: string): Buffer {
  const record = Buffer.alloc(16)
  record.writeUInt16BE(0xc00c, 0)
  record.writeUInt16BE(types.A, 2)
  record.writeUInt16BE(1, 4)
  record.writeUInt16BE(4, 10)
  Buffer.from(address.split('.').map(Number)).copy(record, 12)
  return record
}
