import { connect } from 'node:net'

/**
 * What the server on a port says first (after `question`, when one is given), as text; an empty text when it cannot be
 * reached or says nothing within a second.
 */
export function answerOnPort(port: number, question = ''): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(question))
    const finish = (answer: string) => {
      socket.destroy()
      resolve(answer)
    }
    socket.setTimeout(1_000, () => finish(''))
    socket.once('error', () => finish(''))
    socket.once('end', () => finish(''))
    socket.once('data', (data) => finish(data.toString('latin1')))
  })
}
