/** Nothing is held in the database between two pages. */
export async function* pagesOf<Row>(
  read: (after: string) => Promise<Row[]>,
  { pageRows, keyOf, first }: { pageRows: number; keyOf: (row: Row) => string; first: string },
): AsyncGenerator<Row[]> {
  let after = first
  for (;;) {
    const rows = await read(after)
    const last = rows.at(-1)
    if (last === undefined) return
    yield rows
    if (rows.length < pageRows) return
    after = keyOf(last)
  }
}

export async function* toJsonArray(pages: AsyncIterable<readonly object[]>): AsyncGenerator<Buffer> {
  let isFirst = true
  for await (const page of pages) {
    const rows = page.map((row) => JSON.stringify(row)).join(',\n')
    yield Buffer.from(`${isFirst ? '[\n' : ',\n'}${rows}`)
    isFirst = false
  }
  yield Buffer.from(isFirst ? '[]\n' : '\n]\n')
}

export async function* toJson(value: object): AsyncGenerator<Buffer> {
  yield Buffer.from(`${JSON.stringify(value, undefined, 2)}\n`)
}
