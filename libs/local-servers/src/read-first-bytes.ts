import { connect } from 'node:net'

/** Empty without an answer within a second. */
export function readFirstBytes(port: number, request = ''): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(request))
    const finish = (bytes: string) => {
      socket.destroy()
      resolve(bytes)
    }
    socket.setTimeout(1_000, () => finish(''))
    socket.once('error', () => finish(''))
    socket.once('end', () => finish(''))
    socket.once('data', (data) => finish(data.toString('latin1')))
  })
}
