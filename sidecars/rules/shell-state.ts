import type { Node } from 'web-tree-sitter'

/** A function as it was defined in the text. */
export interface ShellFunction {
  body: Node
  /** False: a call may run a program of that name, too. */
  isCertain: boolean
}

/** More values of one variable than this are as good as not knowing it. */
const MOST_VALUES = 16

/** Values that a variable may have; not complete where there may be others. */
interface Known {
  values: readonly string[]
  isComplete: boolean
}

/** What is known of a shell's variables and functions at one point of a text. Immutable. */
export class ShellState {
  static readonly EMPTY = new ShellState(new Map(), new Map())

  private constructor(
    private readonly variables: ReadonlyMap<string, Known>,
    private readonly functions: ReadonlyMap<string, readonly ShellFunction[]>,
  ) {}

  /** Every value that the variable may have; undefined when that is not known. */
  valuesOf(name: string): readonly string[] | undefined {
    const known = this.variables.get(name)
    return known?.isComplete ? known.values : undefined
  }
  /** Some values that it may have, on one way or another; undefined when none is known. */
  someValuesOf(name: string): readonly string[] | undefined {
    return this.variables.get(name)?.values
  }
  functionsOf(name: string): readonly ShellFunction[] {
    return this.functions.get(name) ?? []
  }
  allFunctions(): ShellFunction[] {
    return [...this.functions.values()].flat()
  }

  /** After an assignment; undefined values: nobody knows. */
  with(name: string, values: readonly string[] | undefined): ShellState {
    const variables = new Map(this.variables)
    if (values === undefined || values.length > MOST_VALUES) variables.delete(name)
    else variables.set(name, { values: [...new Set(values)], isComplete: true })
    return new ShellState(variables, this.functions)
  }

  withFunction(name: string, defined: ShellFunction): ShellState {
    return new ShellState(this.variables, new Map(this.functions).set(name, [defined]))
  }

  /** Inside of a function called with these arguments. */
  called(args: readonly (string | undefined)[]): ShellState {
    let state = this.withoutArguments()
    args.slice(0, 9).forEach((arg, i) => (state = state.with(String(i + 1), arg === undefined ? undefined : [arg])))
    return state
  }

  /** Back from a function, with the arguments that its caller has. */
  returnedTo(caller: ShellState): ShellState {
    let state = this.withoutArguments()
    for (let i = 1; i <= 9; i++) state = state.with(String(i), caller.valuesOf(String(i)))
    return state
  }

  /** Where two ways meet: what is not known of both is not known completely. */
  join(other: ShellState): ShellState {
    if (other === this) return this
    const variables = new Map<string, Known>()
    for (const name of new Set([...this.variables.keys(), ...other.variables.keys()])) {
      const [a, b] = [this.variables.get(name), other.variables.get(name)]
      const union = [...new Set([...(a?.values ?? []), ...(b?.values ?? [])])]
      const isComplete = a?.isComplete === true && b?.isComplete === true && union.length <= MOST_VALUES
      variables.set(name, { values: union.slice(0, MOST_VALUES), isComplete })
    }
    const functions = new Map<string, readonly ShellFunction[]>()
    for (const name of new Set([...this.functions.keys(), ...other.functions.keys()])) {
      const [a, b] = [this.functionsOf(name), other.functionsOf(name)]
      const bodies = new Map([...a, ...b].map((defined) => [defined.body.id, defined]))
      const isCertain = a.length > 0 && b.length > 0 && [...a, ...b].every((defined) => defined.isCertain)
      functions.set(
        name,
        [...bodies.values()].map((defined) => ({ ...defined, isCertain })),
      )
    }
    return new ShellState(variables, functions)
  }

  /** After something that may have changed anything. */
  forgotten(): ShellState {
    const functions = [...this.functions].map(
      ([name, defined]) => [name, defined.map(({ body }) => ({ body, isCertain: false }))] as const,
    )
    const variables = [...this.variables].map(([name, { values }]) => [name, { values, isComplete: false }] as const)
    return new ShellState(new Map(variables), new Map(functions))
  }

  equals(other: ShellState): boolean {
    return this === other || this.text() === other.text()
  }

  private withoutArguments(): ShellState {
    return new ShellState(new Map([...this.variables].filter(([name]) => !/^\d$/.test(name))), this.functions)
  }

  private text(): string {
    return JSON.stringify([
      [...this.variables].map(([name, { values, isComplete }]) => [name, isComplete, [...values].sort()]).sort(),
      [...this.functions]
        .map(([name, defined]) => [name, defined.map(({ body, isCertain }) => [body.id, isCertain])])
        .sort(),
    ])
  }
}
