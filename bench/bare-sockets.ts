/** The peer of the socket benchmarks: a bare ws server that answers the first message with a canned `ready`, and sends all its sockets what this process is told. */
import { WebSocketServer } from 'ws'

const ready = process.env.CANNED_READY!
const server = new WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate: false })
server.on('connection', (socket) => {
  socket.once('message', (data) => {
    const { type } = JSON.parse(String(data)) as { type?: string }
    if (type === 'auth') socket.send(ready)
  })
})
server.on('listening', () => process.send!((server.address() as { port: number }).port))
process.on('message', (text: string) => server.clients.forEach((socket) => socket.send(text)))
process.on('disconnect', () => process.exit(0))
