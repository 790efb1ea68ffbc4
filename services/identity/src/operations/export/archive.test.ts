import { setImmediate as turn } from 'node:timers/promises'
import { expect } from 'chai'
import { createArchive, type ArchivePart } from './archive.ts'

const modifiedAt = new Date('2026-01-01T00:00:00Z')
const chunk = Buffer.alloc(64 * 1024, 'x')

/** Ever more parts of ever more chunks, and how many chunks were read. */
function endlessParts() {
  const state = { chunks: 0, isClosed: false }
  async function* content(): AsyncGenerator<Buffer> {
    try {
      for (;;) {
        state.chunks += 1
        yield chunk
      }
    } finally {
      state.isClosed = true
    }
  }
  async function* parts(): AsyncGenerator<ArchivePart> {
    for (;;) yield { name: 'endless.txt', content: content(), compress: false }
  }
  return { state, parts: parts() }
}

const turns = async (count: number) => {
  for (let done = 0; done < count; done += 1) await turn()
}

describe('an archive', () => {
  it('reads no further while nobody reads it', async () => {
    const { state, parts } = endlessParts()
    const archive = createArchive(parts, { modifiedAt })
    await turns(500)
    const waiting = state.chunks

    await turns(500)
    expect(state.chunks).to.equal(waiting).and.to.be.within(1, 10)

    archive.destroy()
  })

  it('closes what it was reading when its reader leaves', async () => {
    const { state, parts } = endlessParts()
    const archive = createArchive(parts, { modifiedAt })
    await turns(10)

    archive.destroy()
    await turns(100)

    expect(state.isClosed).to.equal(true)
  })

  it('is destroyed with the error of a part that cannot be read', async () => {
    async function* failing(): AsyncGenerator<Buffer> {
      yield chunk
      throw new Error('revoked')
    }
    async function* parts(): AsyncGenerator<ArchivePart> {
      yield { name: 'failing.txt', content: failing(), compress: true }
    }
    const archive = createArchive(parts(), { modifiedAt })
    const error = await new Promise((resolve) => {
      archive.on('error', resolve)
      archive.resume()
    })

    expect(error).to.be.an('error').with.property('message', 'revoked')
    expect(archive.destroyed).to.equal(true)
  })
})
