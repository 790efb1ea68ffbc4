import { connect, type Socket } from 'node:net'

/** Sends bytes as they are and gives everything that comes back until the other side ends, or `until` is there. */
export async function sendRaw(port: number, bytes: string, until?: RegExp): Promise<string> {
  return await new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    let answer = ''
    const done = (): void => {
      socket.destroy()
      resolve(answer)
    }
    socket.on('data', (piece) => {
      answer += piece.toString('latin1')
      if (until?.test(answer)) done()
    })
    socket.once('error', done)
    socket.once('close', done)
    socket.write(bytes, 'latin1')
  })
}

/** A connection that a test drives itself. */
export async function openRaw(port: number): Promise<Socket> {
  return await new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.off('error', reject)
      socket.on('error', () => undefined)
      resolve(socket)
    })
    socket.once('error', reject)
  })
}
