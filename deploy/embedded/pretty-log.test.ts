import { expect } from 'chai'
import { createLog } from '@gatehouse/service-kit'
import { createLogFormatter } from './pretty-log.ts'

describe('the log on a terminal', () => {
  const format = createLogFormatter({ isColored: false })

  it('is one line for each message, with its time, level and fields', () => {
    const line = JSON.stringify({
      level: 'warn',
      time: '2025-11-21T12:00:01Z',
      service: 'identity',
      port: 80,
      msg: 'slow',
    })

    expect(format(line)).to.match(/^\[\d\d:\d\d:01\] WARN: slow \{"port":80\}\n$/)
  })

  it('has each line of an error’s stack on a line of its own', () => {
    const lines: string[] = []
    const destination = { write: (line: string) => void lines.push(format(line)) }
    const log = createLog({ level: 'info', service: 'identity', destination })

    log.error({ err: new Error('the reason') }, 'request failed')

    expect(lines.join('')).to.match(
      /ERROR: request failed *\n[\s\S]*"stack":\n +Error: the reason\n +at .*pretty-log\.test\.ts/,
    )
  })

  it('has the stacks of the cause and of several errors on lines of their own too', () => {
    const lines: string[] = []
    const destination = { write: (line: string) => void lines.push(format(line)) }
    const log = createLog({ level: 'info', service: 'identity', destination })

    log.error({ err: new Error('the result', { cause: new Error('the cause') }) }, 'request failed')
    log.error({ err: new AggregateError([new Error('the first'), new Error('the second')]) }, 'several failed')

    const text = lines.join('')
    for (const line of ['Error: the result', 'caused by: Error: the cause', 'Error: the first', 'Error: the second']) {
      expect(text).to.match(new RegExp(`^ +${line}\n +at .*pretty-log\\.test\\.ts`, 'm'))
    }
    expect(text).to.not.include('\\n')
  })

  it('is one short line for each request', () => {
    const line = JSON.stringify({
      level: 'info',
      time: '2025-11-21T12:00:01Z',
      service: 'gateway',
      requestId: 'r-1',
      method: 'GET',
      route: 'GET /api/users/:id',
      status: 200,
      ms: 1.2,
      userId: '42',
      msg: 'request',
    })

    expect(format(line)).to.match(
      /^\[\d\d:\d\d:01\] INFO: GET \/api\/users\/:id 200 1\.2 ms \{"requestId":"r-1","userId":"42"\}\n$/,
    )
  })

  it('leaves lines that are not JSON as they are', () => {
    expect(format('FATAL ERROR: out of memory')).to.equal('FATAL ERROR: out of memory\n')
  })
})
