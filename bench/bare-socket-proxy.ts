/** What the gateway's sockets stand beside: http-proxy, as the gateway uses it, in front of UPSTREAM and nothing else. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createProxyServer } from 'http-proxy'

const proxy = createProxyServer({ ws: true, target: process.env.UPSTREAM! })
proxy.on('error', () => undefined)
const server = createServer((_, response) => response.writeHead(404).end())
server.on('upgrade', (request, socket, head) => {
  socket.on('error', () => undefined)
  proxy.ws(request, socket, head)
})
server.listen(0, '127.0.0.1', () => process.send!((server.address() as AddressInfo).port))
process.on('disconnect', () => process.exit(0))
