import { connect, type Socket } from 'node:net'

/** Sends bytes unchanged and gives the response, up to the end of the connection or until it matches `until`. */
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

/** A connection whose bytes a test writes itself. */
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
