"""``python -m tests.recipe`` renders the conda recipe with rattler-build, without building it."""

from __future__ import annotations

from pathlib import Path

RECIPE = Path(__file__).parents[1] / "recipe" / "recipe.yaml"


def main() -> None:
    # a need of make dist, not of the tests
    from rattler_build import Stage0Recipe, VariantConfig

    (variant,) = Stage0Recipe.from_file(RECIPE).render(VariantConfig())
    made = variant.recipe.to_dict()
    print(made["package"]["name"], made["package"]["version"], *made["requirements"]["run"], sep="\n  ")


if __name__ == "__main__":
    main()
