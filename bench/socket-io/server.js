// socket.io as its documentation sets it up, websocket transport alone: a token in the handshake, verified by jsonwebtoken, and a canned `ready`. No database.
import { createServer } from 'node:http'
import { createSecretKey } from 'node:crypto'
import jwt from 'jsonwebtoken'
import { Server } from 'socket.io'

const { CANNED_READY, JWT_SECRET } = process.env
const key = createSecretKey(Buffer.from(JWT_SECRET))
const ready = JSON.parse(CANNED_READY)
const server = createServer()
const io = new Server(server, { transports: ['websocket'], serveClient: false })
io.use((socket, next) => {
  try {
    jwt.verify(socket.handshake.auth.token, key, { algorithms: ['HS256'] })
    next()
  } catch (error) {
    next(error)
  }
})
io.on('connection', (socket) => socket.emit('ready', ready))
server.listen(0, '127.0.0.1', () => process.send(server.address().port))
process.on('disconnect', () => process.exit(0))
